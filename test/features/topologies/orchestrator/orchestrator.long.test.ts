/** Whole runs of an orchestrator: rounds, lost hand-offs, silent workers, and a boss that dies while they are out. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type Conversation,
  type ScriptedReply,
  childTool,
  hierarchical,
  orchestrator,
  pipeline,
} from "../../../../src/index.ts";
import type { Agent, Topology } from "../../../../src/ports/agent.ts";
import { diagnose } from "../../../../src/operations/diagnose.ts";
import { show, timeline } from "../../../../src/operations/views.ts";
import { forEachCrashPoint, forSampledCrashPoints } from "../../../support/faults/crash-at-call.ts";
import { createChainHarness, neverSettles, flushPromises } from "../../../support/harness/harness.ts";
import { type Household, household } from "../../../support/runs/parent-steps.ts";
import { playRun } from "../../../support/runs/topology-run.ts";
import { ROLES, asking, bossOf, isFirst, researcher } from "../../../support/agents/researchers.ts";

type Played = Awaited<ReturnType<typeof playRun>>;

const topology = orchestrator({ workers: ["ask"], ...ROLES });
const childrenOf = ({ harness, run }: Played) =>
  [...harness.world.store.rows.values()].filter(({ parent }) => parent?.run === run);
const kindsOf = ({ events }: Played): readonly string[] => events.map(({ kind }) => kind);

/** The first signal of that crack comes before that event. */
function isBefore({ events }: Played, crack: string, later: string): boolean {
  const at = events.findIndex((event) => event.kind === "CrackSignalled" && event.crack === crack);
  return at >= 0 && at < events.findLastIndex(({ kind }) => kind === later);
}

test("a boss hands out, reads the memos, and its merger writes the answer from them", async () => {
  const { agent, asked } = bossOf(topology);
  const played = await playRun(agent, { others: [researcher()] });
  expect(played.shown).toMatchObject({ status: "completed", result: "on one + on two" });
  expect(played.moves.map(({ note }) => note)).toEqual([
    "hands out work; 3 rounds and 24 hand-offs at most",
    "round 1: 2 memos; 2 reports are there",
    "the boss has what it needs; the answer is written",
    "the answer merges 2 memos",
  ]);
  expect(asked.map(({ tools }) => tools)).toEqual([["ask"], ["ask"], []]);
  expect(asked[1]?.texts.at(-1)).toMatch(
    /^Reports so far:\n\n1\. The task \{"question":"one"\} gave:\n\{"memo":"on one"\}\n\n2\. .*\n\{"memo":"on two"\}/,
  );
  expect(played.cracks).toEqual([]);
});

test("a boss hands out more in the next round, and no more than its caps allow", async () => {
  const { agent } = bossOf(orchestrator({ workers: ["ask"], ...ROLES, rounds: 2, handOffs: 3 }), {
    hands: ({ messages }) => (isFirst(messages) ? asking("one") : asking("two", "three", "four")),
  });
  const played = await playRun(agent, { others: [researcher()] });
  expect(played.shown).toMatchObject({ status: "completed", result: "on one + on two + on three" });
  expect(childrenOf(played)).toHaveLength(3);
  const refused = played.events.filter((event) => event.kind === "ToolResultRecorded" && event.outcome === "failed");
  expect(refused).toMatchObject([{ value: { json: expect.stringMatching(/^NotStarted: 3 hand-offs are the most/) } }]);
});

test("more workers than may be out at once come later in the same round, and the same task is not handed out twice", async () => {
  const { agent } = bossOf(orchestrator({ workers: ["ask"], ...ROLES, atOnce: 2, rounds: 1, handOffs: 3 }), {
    hands: () => asking("one", "one", "two", "three"),
  });
  const played = await playRun(agent, { others: [researcher()] });
  expect(childrenOf(played)).toHaveLength(3);
  expect(played.shown).toMatchObject({ result: "on one + on two + on three" });
  const refused = played.events.flatMap((event) =>
    event.kind === "ToolResultRecorded" && event.outcome === "failed" && event.value.kind === "inline"
      ? [String(event.value.json).split(":")[0]]
      : [],
  );
  // None of these counts towards the cap of three.
  expect(refused).toEqual(["Duplicate", "NotYet", "Duplicate", "Duplicate", "Duplicate"]);
});

describe("a boss whose every hand-off is refused", () => {
  const strict = { ...researcher(), task: z.object({ question: z.string().min(90) }) } as Agent;
  const own = (kind: (options: Parameters<typeof orchestrator>[0]) => Topology, rounds: number) =>
    kind({ workers: ["ask"], ...ROLES, rounds });
  const kinds: readonly (readonly [string, (options: Parameters<typeof orchestrator>[0]) => Topology])[] = [
    ["an orchestrator", orchestrator],
    ["a hierarchy", hierarchical],
  ];

  test.each(kinds)("ends with its rounds, also where it ignores loops: %s", async (_, kind) => {
    let asked = 0;
    const hands = () => asking(`${(asked += 1)}`, `${(asked += 1)}`, `${(asked += 1)}`);
    for (const rounds of [1, 2, 4]) {
      const { agent, asked: calls } = bossOf(own(kind, rounds), { hands });
      const played = await playRun(agent, { others: [strict] });
      expect(played.shown).toMatchObject({
        status: "failed",
        failure: { code: "NothingHandedOut", message: expect.stringContaining("InvalidArguments: agent researcher") },
      });
      // One reply more than rounds: the boss tries to hand out where it was told to work alone.
      expect(calls.map(({ tools }) => tools)).toEqual([...Array.from({ length: rounds }, () => ["ask"]), []]);
      expect(childrenOf(played)).toEqual([]);
    }
  });

  test.each(kinds)("does the work itself where it says so: %s", async (_, kind) => {
    const hands = ({ calls }: Conversation): ScriptedReply => (calls.length < 2 ? asking("x") : { text: "by myself" });
    const played = await playRun(bossOf(own(kind, 2), { hands }).agent, { others: [strict] });
    expect(played.shown).toMatchObject({ status: "completed", result: "by myself" });
    expect(played.moves.map(({ note }) => note)).toContain("round 2: nothing was handed out; the boss goes on alone");
  });

  test.each(kinds)("fails the run at its first hand-off if there is no agent of that name: %s", async (_, kind) => {
    const hands = () => asking("one", "two", "three");
    const { agent, asked } = bossOf(own(kind, 2), { hands, child: { agent: "resaercher" } });
    const played = await playRun(agent, { others: [researcher()] });
    expect(played.shown).toMatchObject({ status: "failed", failure: { code: "ChildAgentUnknown" } });
    expect(asked).toHaveLength(1);
  });

  test("is so in a stage of a pipeline as well", async () => {
    const stage = { name: "research", instructions: "Research.", tools: ["ask"], topology: own(orchestrator, 2) };
    const { agent, asked } = bossOf(pipeline({ stages: [stage], retriesPerStage: 1 }), { hands: () => asking("x") });
    const played = await playRun(agent, { others: [strict] });
    expect(played.shown).toMatchObject({ status: "failed", failure: { code: "GateFailed" } });
    expect(asked).toHaveLength(6);
  });
});

test("whoever dies while hand-offs are refused, the rounds are counted once each", async () => {
  const strict = { ...researcher(), task: z.object({ question: z.string().min(90) }) } as Agent;
  const crashes = await forSampledCrashPoints(async (crash) => {
    const { agent } = bossOf(orchestrator({ workers: ["ask"], ...ROLES, rounds: 2 }), { hands: () => asking("one") });
    const played = await playRun(agent, { crash, others: [strict] });
    expect(played.shown).toMatchObject({ status: "failed", failure: { code: "NothingHandedOut" } });
    expect(played.moves.map(({ note }) => note)).toEqual([
      "hands out work; 2 rounds and 24 hand-offs at most",
      "round 1: nothing was handed out",
      "round 2: nothing was handed out; the boss goes on alone",
    ]);
    return played.lives;
  });
  expect(crashes).toBeGreaterThan(15);
});

describe("a lost hand-off", () => {
  const worker = (memos: readonly unknown[]): Agent => {
    let given = 0;
    return researcher({ memo: () => memos[Math.min(given++, memos.length - 1)] });
  };
  const oneQuestion = { hands: () => asking("Which of the three printers is the quietest one of all") };
  const question = "Which of the three printers is the quietest one of all";

  test.each([
    ["that fails its schema", { text: 1 }, /does not fit/],
    ["that echoes its task", { memo: `${question}?` }, /gave its task back/],
  ])("%s is signalled before the memo is merged, and handed out again", async (_, bad, why) => {
    const { agent } = bossOf(orchestrator({ workers: ["ask"], ...ROLES, rounds: 1 }), oneQuestion);
    const played = await playRun(agent, { others: [worker([bad, { memo: "on printers" }])] });
    expect(played.shown).toMatchObject({ status: "completed", result: "on printers" });
    expect(played.cracks).toEqual(["lostHandoff"]);
    expect(played.shown?.cracks).toMatchObject({ lostHandoff: { times: 1, why: expect.stringMatching(why) } });
    expect(isBefore(played, "lostHandoff", "ModelCallCompleted")).toBe(true);
    expect(childrenOf(played)).toHaveLength(2);
  });

  test("whose every try fails is told to the boss, and the rest is merged without it", async () => {
    const { agent, asked } = bossOf(orchestrator({ workers: ["ask"], ...ROLES, rounds: 1 }), {
      hands: () => asking("one", "two"),
    });
    const bad = researcher({ memo: (about) => (about === "one" ? { text: 1 } : { memo: `on ${about}` }) });
    const played = await playRun(agent, { others: [bad] });
    expect(played.shown).toMatchObject({ status: "completed", result: "on two" });
    expect(asked.at(-1)?.texts.at(-1)).toContain('These hand-offs gave no usable report:\n- {"question":"one"}');
    expect(played.cracks).toEqual(["lostHandoff", "lostHandoff"]);
    const all = bossOf(orchestrator({ workers: ["ask"], ...ROLES, rounds: 1 }), { hands: () => asking("one") });
    const lost = await playRun(all.agent, { others: [bad] });
    expect(lost.shown).toMatchObject({ status: "failed", failure: { code: "NoMemo" } });
  });

  test("may echo its task where the tool says so", async () => {
    const { agent } = bossOf(orchestrator({ workers: ["ask"], ...ROLES, rounds: 1 }), {
      ...oneQuestion,
      child: { mayEcho: true },
    });
    const played = await playRun(agent, { others: [worker([{ memo: question }])] });
    expect({ cracks: played.cracks, children: childrenOf(played).length }).toEqual({ cracks: [], children: 1 });
  });
});

test("whoever dies while a lost hand-off is made again, it is tried as often as its tool says, and signalled once each", async () => {
  const plain = orchestrator({ workers: ["ask"], ...ROLES, rounds: 1 });
  let deaths = 0;
  await forEachCrashPoint(async (crash) => {
    if (crash.at % 5 !== 0) return crash.at > 80;
    const { agent } = bossOf(plain, { hands: () => asking("one") });
    const played = await playRun(agent, { crash, others: [researcher({ memo: () => ({ text: 1 }) })] });
    expect(played.shown).toMatchObject({ status: "failed", failure: { code: "NoMemo" } });
    expect(childrenOf(played)).toHaveLength(2);
    expect(played.cracks.filter((crack) => crack === "lostHandoff")).toHaveLength(2);
    deaths += 1;
    return played.lives;
  });
  expect(deaths).toBeGreaterThan(15);
});

test("whoever dies around a deadline, a silent worker is replaced once, and asked to stop", async () => {
  const plain = orchestrator({ workers: ["ask"], ...ROLES, rounds: 1 });
  let deaths = 0;
  await forEachCrashPoint(async (crash) => {
    if (crash.at % 7 !== 0) return crash.at > 80;
    const { agent } = bossOf(plain, { hands: () => asking("one"), child: { deadlineMs: 2_000 } });
    const played = await playRun(agent, { crash, others: [researcher({ reply: neverSettles })] });
    expect(played.shown).toMatchObject({ status: "failed", failure: { code: "NoMemo" } });
    expect(childrenOf(played).map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
    expect(played.cracks.filter((crack) => crack === "workerSilence")).toHaveLength(2);
    deaths += 1;
    return played.lives;
  });
  expect(deaths).toBeGreaterThan(10);
});

test("an orchestrator is a stage of a pipeline, keeps its caps there, and hands out again where a gate sends it back", async () => {
  const { agent } = bossOf(
    pipeline({
      stages: [
        {
          name: "research",
          instructions: "Research.",
          tools: ["ask"],
          gate: ({ calls }) =>
            calls.filter(({ outcome }) => outcome === "succeeded").length > 1 || "one memo is not enough",
          topology: orchestrator({ workers: ["ask"], ...ROLES, rounds: 1, handOffs: 2 }),
        },
      ],
    }),
    { hands: () => asking("one", "one") },
  );
  const played = await playRun(agent, { others: [researcher()] });
  expect(played.shown).toMatchObject({ status: "completed", result: "on one" });
  // The second call of each reply is refused, and the second run of the stage asks again.
  expect(childrenOf(played)).toHaveLength(2);
  expect(played.moves.map(({ where }) => where).at(-1)).toBe("stage 1 of 1, research, run 2, done");
});

test("a silent worker is signalled at its deadline, asked to stop, and its work is handed out again", async () => {
  let replies = 0;
  const slow = researcher({ reply: () => ((replies += 1) === 1 ? neverSettles() : { text: "done" }) });
  const { agent } = bossOf(orchestrator({ workers: ["ask"], ...ROLES, rounds: 1 }), {
    hands: () => asking("one"),
    child: { deadlineMs: 2_000 },
  });
  const played = await playRun(agent, { others: [slow] });
  // No report by the deadline is the third form of a lost hand-off.
  expect(played.cracks).toEqual(["workerSilence", "lostHandoff"]);
  expect(played.shown).toMatchObject({ status: "completed", result: "on one" });
  expect(kindsOf(played)).toContain("ChildAskedToStop");
  expect(isBefore(played, "workerSilence", "ModelCallCompleted")).toBe(true);
  const found = (await diagnose(played.harness.world, played.run)) ?? [];
  expect(found.filter(({ evidence }) => evidence.length > 0).map(({ likely }) => likely)).toEqual([
    "lostHandoff",
    "workerSilence",
  ]);
});

/** Beats of the boss until it waits without a process. */
async function untilParked(house: Household): Promise<void> {
  while ((await house.runAttempt(house.run)).kind !== "park");
}

/** When events of these kinds happened, in milliseconds since the run began. */
async function timesIn({ harness, run }: Household) {
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  const begun = events[0]?.at ?? 0;
  return (...kinds: readonly string[]) => events.flatMap(({ kind, at }) => (kinds.includes(kind) ? [at - begun] : []));
}

test("a silent worker that works on is replaced at its deadline, and its late end delays only that of the run", async () => {
  let replies = 0;
  const slow = researcher({ reply: () => ((replies += 1) === 1 ? neverSettles() : { text: "done" }) });
  const { agent } = bossOf(orchestrator({ workers: ["ask"], ...ROLES, rounds: 1 }), {
    hands: () => asking("one"),
    child: { deadlineMs: 2_000 },
  });
  const harness = createChainHarness({ beatMs: 60_000, modelMs: 45_000 });
  const house = await household([agent, slow], harness);
  await untilParked(house);
  const silent = house.startAttempt(house.children()[0]?.run ?? "");
  const hung = silent.perform({ world: harness.world, agent: house.agents });
  await flushPromises();
  await untilParked(house);
  const others = house.children().slice(1);
  expect(others).toHaveLength(1);
  for (const { run } of others) await house.play(run);
  await untilParked(house);
  // The answer is there, while the silent worker is still at its model call.
  const atAnswer = await timesIn(house);
  expect(atAnswer("ChildDispatched")).toEqual([0, 2_000]);
  expect(atAnswer("CrackSignalled", "ChildSuperseded", "ChildAskedToStop")).toEqual([2_000, 2_000, 2_000, 2_000]);
  expect(atAnswer("ModelCallCompleted")).toEqual([0, 2_000]);
  expect(atAnswer("RunEnded")).toEqual([]);
  silent.end(await harness.advanceUntilSettled(hung));
  await house.playAll();
  const [end = 0] = (await timesIn(house))("RunEnded");
  expect(end).toBeGreaterThanOrEqual(45_000);
  expect(end).toBeLessThan(60_000);
  expect(house.children().map(({ status }) => status)).toEqual(["cancelled", "completed"]);
  expect(await show(harness.world, house.run)).toMatchObject({ status: "completed", result: "on one" });
});

describe("a boss that dies", () => {
  test("at any of its calls while eight workers are out dispatches none of them again", async () => {
    const eight = ["a", "b", "c", "d", "e", "f", "g", "h"];
    const plain = orchestrator({ workers: ["ask"], ...ROLES, rounds: 1 });
    const deaths = { all: 0, signalled: 0 };
    await forEachCrashPoint(async (crash) => {
      // Every ninth moment: a run has hundreds.
      if (crash.at % 9 !== 0) return crash.at > 90;
      const { agent } = bossOf(plain, { hands: () => asking(...eight) });
      const played = await playRun(agent, { crash, others: [researcher()] });
      expect(played.shown).toMatchObject({
        status: "completed",
        result: eight.map((each) => `on ${each}`).join(" + "),
      });
      expect(childrenOf(played)).toHaveLength(8);
      const dispatched = played.events.filter(({ kind }) => kind === "ChildDispatched");
      expect(dispatched).toHaveLength(8);
      deaths.all += 1;
      if (played.cracks.includes("bossDeath")) deaths.signalled += 1;
      return played.lives;
    });
    expect(deaths.all).toBeGreaterThan(15);
    expect(deaths.signalled).toBeGreaterThan(0);
  });

  test("while no worker is out gives no signal", async () => {
    const { agent } = bossOf(topology);
    const played = await playRun(agent, { crash: { at: 2, when: "after" }, others: [researcher()] });
    expect(played.lives).toBe(false);
    expect(played.cracks).toEqual([]);
  });
});

test.each([
  ["is no child tool", { ask: undefined, other: true }, "its worker other is no child tool"],
  ["has no output", { output: undefined as never }, "its worker ask has no output"],
  ["is left alone", { wait: false }, "its worker ask is left alone"],
])("an agent whose worker %s is refused", (_, change, why) => {
  const isOther = "other" in change;
  const workers = isOther ? ["other"] : ["ask"];
  const other = childTool({ agent: "x", description: "", input: z.object({}), budget: { beats: 1 } });
  const { child: _child, ...plain } = other;
  const define = () =>
    bossOf(orchestrator({ workers, ...ROLES }), isOther ? { more: { other: plain } } : { child: change as object });
  expect(define).toThrow(why);
});
