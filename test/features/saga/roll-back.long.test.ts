/** Work that is repeated in a run that goes on: what it did outside is undone, asked about, or declared to stay. */
import { expect, test } from "vitest";
import { z } from "zod";
import {
  type Conversation,
  type ScriptedReply,
  childTool,
  debate,
  hierarchical,
  orchestrator,
  pipeline,
  planExecute,
  react,
  tool,
} from "../../../src/index.ts";
import { requestCompensation } from "../../../src/operations/compensate.ts";
import { ledger, show } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { forSampledCrashPoints } from "../../support/faults/crash-at-call.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import {
  Desk,
  ONE,
  type Rules,
  answer,
  booking,
  bookingTool,
  decideOn,
  goOn,
  undoBy,
} from "../../support/runs/booking-run.ts";
import { playRun, roleAgent } from "../../support/runs/topology-run.ts";
import { MS } from "../../support/harness/harness.ts";

test("a discarded stage is undone newest first, before it begins again, and no other stage is", async () => {
  const desk = new Desk();
  const { shown, events } = await playRun(booking(desk, { rules: undoBy(desk) }));
  expect(shown).toMatchObject({ status: "completed" });
  expect(shown?.standing).toEqual([]);
  expect(desk.log).toEqual(["book LH0", "book LH1", "book LH2", "cancel LH2", "cancel LH1", "book LH1", "book LH2"]);
  assertSafety("a repeat after an undo has a new key", () => expect(desk.bookings.size).toBe(5));
  expect(events.filter(({ kind }) => kind === "ToolCompensated")).toHaveLength(2);
});

test("a process dies at any moment of the roll-back: the rest is undone in order, and nothing twice", async () => {
  const calm = new Desk();
  await playRun(booking(calm, { rules: undoBy(calm) }));
  const crashes = await forSampledCrashPoints(async (crash) => {
    const desk = new Desk();
    const { lives, shown } = await playRun(booking(desk, { rules: undoBy(desk) }), { crash });
    expect(shown).toMatchObject({ status: "completed" });
    assertSafety("each effect is undone once and in order", () => expect(desk.log).toEqual(calm.log));
    return lives;
  });
  expect(crashes).toBeGreaterThan(60);
});

test("a tool without undo asks: what a human undid is made again, without another question", async () => {
  const desk = new Desk();
  const agent = booking(desk, { flights: ONE });
  const asked = await playRun(agent);
  expect(asked.shown).toMatchObject({
    status: "blocked",
    unknown: [{ call: "undo-c2", tool: "book", undoes: "c2", byHand: true, args: { flight: "LH1" } }],
  });
  expect(asked.shown?.unknown[0]?.key).toBe([...desk.bookings.keys()][1]);
  desk.cancel([...desk.bookings.keys()][1] ?? "");
  await answer(asked, "undo-c2", "succeeded");
  expect(await goOn(asked, agent)).toMatchObject({ status: "completed" });
  expect(desk.log).toEqual(["book LH0", "book LH1", "cancel LH1", "book LH1"]);
  const entries = await ledger(asked.harness.world, asked.run);
  expect(entries?.find(({ call }) => call === "c2")).toMatchObject({ status: "compensated" });
});

test("what a human leaves stands, so an equal call asks, and the end lists it", async () => {
  for (const as of ["deny", "approve"] as const) {
    const desk = new Desk();
    // The schema makes the same of both.
    const agent = booking(desk, { flights: (isAgain) => [isAgain ? { seats: 1, flight: "LH1" } : { flight: "LH1" }] });
    const asked = await playRun(agent);
    await answer(asked, "undo-c2", "failed");
    const gated = await goOn(asked, agent);
    expect(gated).toMatchObject({ status: "waiting", gates: [{ call: "c3" }] });
    assertSafety("nothing is made again in silence", () => expect(desk.log).toEqual(["book LH0", "book LH1"]));
    await decideOn(asked, gated, as);
    expect(await goOn(asked, agent)).toMatchObject({ status: "completed", standing: ["book (c2)"] });
    expect(desk.standing).toEqual(as === "deny" ? ["LH0", "LH1"] : ["LH0", "LH1", "LH1"]);
  }
});

test("keep is a declaration of the pipeline or of the tool: nobody is asked about the roll-back, and the end lists it", async () => {
  for (const of of [{ onRollBack: "keep" }, { rules: { onRollBack: "keep" } }] as const) {
    const desk = new Desk();
    const agent = booking(desk, { ...of, flights: (isAgain) => [{ flight: isAgain ? "LH2" : "LH1" }] });
    expect((await playRun(agent)).shown).toMatchObject({ status: "completed", standing: ["book (c2)"] });
    expect(desk.standing).toEqual(["LH0", "LH1", "LH2"]);
    const other = new Desk();
    const played = await playRun(booking(other, { ...of, flights: ONE }));
    expect(played.shown).toMatchObject({ status: "waiting", gates: [{ call: "c3" }] });
    assertSafety("nothing is made again in silence", () => expect(other.log).toEqual(["book LH0", "book LH1"]));
  }
});

test("a business key of the agent's own gets a number after an undo, and stays where the effect stands", async () => {
  const key = ({ flight }: { readonly flight: string }): string => `trip-${flight}`;
  const desk = new Desk();
  const { shown } = await playRun(booking(desk, { rules: { ...undoBy(desk), key }, flights: ONE }));
  expect(shown).toMatchObject({ status: "completed" });
  expect([...desk.bookings.keys()]).toEqual(["trip-LH0", "trip-LH1", "trip-LH1~2"]);
  expect(desk.standing).toEqual(["LH0", "LH1"]);
  const kept = new Desk();
  const agent = booking(kept, { rules: { key }, flights: ONE, onRollBack: "keep" });
  // The service sees one effect under one key, so nobody is asked.
  expect((await playRun(agent)).shown).toMatchObject({ status: "completed" });
  expect(kept.log).toEqual(["book LH0", "book LH1"]);
});

test("an undo with an unknown outcome blocks the run, and the stage begins once a human has answered", async () => {
  const desk = new Desk();
  const undo: Rules["undo"] = {
    effect: "unsafe",
    run: ({ of }) => {
      desk.cancel(of.key);
      throw new Error("the line went dead");
    },
  };
  const agent = booking(desk, { rules: { undo } });
  const asked = await playRun(agent);
  expect(asked.shown).toMatchObject({ status: "blocked", unknown: [{ call: "undo-c3", undoes: "c3" }] });
  expect(asked.shown?.unknown[0]?.byHand).toBeUndefined();
  await answer(asked, "undo-c3", "succeeded");
  expect(await goOn(asked, agent)).toMatchObject({ status: "blocked", unknown: [{ call: "undo-c2" }] });
  await answer(asked, "undo-c2", "succeeded");
  expect(await goOn(asked, agent)).toMatchObject({ status: "completed" });
  expect(desk.log).toEqual(["book LH0", "book LH1", "book LH2", "cancel LH2", "cancel LH1", "book LH1", "book LH2"]);
});

test("a cancel while a roll-back asks ends the run, and lists what stands", async () => {
  const desk = new Desk();
  const agent = booking(desk, { flights: ONE });
  const asked = await playRun(agent);
  await sendRequest(asked.harness.world, { run: asked.run, want: "cancel" });
  expect(await goOn(asked, agent)).toMatchObject({ status: "cancelled", standing: ["book (c2)"] });
  expect(desk.standing).toEqual(["LH0", "LH1"]);
});

test("a cancel with compensation undoes by tools, and asks about no effect that has no undo", async () => {
  const desk = new Desk();
  const agent = booking(desk, { rules: undoBy(desk), flights: ONE, second: "mail" });
  const asked = await playRun(agent);
  expect(asked.shown).toMatchObject({ status: "blocked", unknown: [{ call: "undo-c2", byHand: true }] });
  const want = { run: asked.run, next: "cancel", by: "ann" } as const;
  expect(await requestCompensation(asked.harness.world, want)).toBe("accepted");
  expect(await goOn(asked, agent)).toMatchObject({ status: "cancelled", standing: ["mail (c2)"] });
  expect(desk.log).toEqual(["book LH0", "book LH1", "cancel LH0"]);
});

test("a restart while a roll-back asks undoes by tools, and begins from the task", async () => {
  const desk = new Desk();
  const agent = booking(desk, { rules: undoBy(desk), flights: ONE });
  const slow: Agent = {
    ...agent,
    tools: {
      book: {
        ...(agent.tools["book"] as Tool),
        undo: {
          effect: "unsafe",
          run: () => {
            throw new Error("the line went dead");
          },
        },
      },
    },
  };
  const asked = await playRun(slow);
  expect(asked.shown).toMatchObject({ status: "blocked", unknown: [{ call: "undo-c2" }] });
  expect(await requestCompensation(asked.harness.world, { run: asked.run, next: "restart", by: "ann" })).toBe(
    "accepted",
  );
  await answer(asked, "undo-c2", "failed");
  const shown = await goOn(asked, agent);
  expect(shown).toMatchObject({ status: "completed", attempt: 2 });
});

test("a run that is paused while a roll-back asks goes on with it once it is resumed", async () => {
  const desk = new Desk();
  const agent = booking(desk, { flights: ONE });
  const asked = await playRun(agent);
  await sendRequest(asked.harness.world, { run: asked.run, want: "pause" });
  await answer(asked, "undo-c2", "succeeded");
  expect(await goOn(asked, agent)).toMatchObject({ status: "paused" });
  await sendRequest(asked.harness.world, { run: asked.run, want: "resume" });
  expect(await goOn(asked, agent)).toMatchObject({ status: "completed" });
});

test("an undo of a roll-back needs no room in the budget", async () => {
  const desk = new Desk();
  const agent = booking(desk, { rules: undoBy(desk), budget: { beats: 50, toolCalls: 3 } });
  const { shown } = await playRun(agent);
  expect(shown).toMatchObject({ status: "failed", failure: { code: "BudgetExhausted" } });
  expect(desk.log).toEqual([
    ...["book LH0", "book LH1", "book LH2", "cancel LH2", "cancel LH1"],
    // The run fails, so the saga undoes the rest.
    "cancel LH0",
  ]);
});

test("another plan asks before a call that is equal to one of the plan before", async () => {
  const desk = new Desk();
  const { agent } = roleAgent(planExecute({ planner: { instructions: "Plan." }, onFailedStep: "replan" }), {
    reply: ({ instructions, messages, calls }: Conversation): ScriptedReply => {
      const plans = messages.filter(({ text }) => text.includes("cannot go on")).length;
      if (instructions.includes("Plan.")) {
        const steps = [
          { title: "book", does: "book", tools: ["book"] },
          ...(plans === 0 ? [{ title: "fail", does: "fail", tools: ["fail"] }] : []),
        ];
        return { text: JSON.stringify({ steps }) };
      }
      const opening = messages.findLast(({ text }) => text.startsWith("Step "))?.text ?? "";
      if (opening === "") return { text: "over" };
      if (calls.length > 0) return { text: "done" };
      return {
        calls: [opening.includes("fail") ? { tool: "fail", args: {} } : { tool: "book", args: { flight: "LH1" } }],
      };
    },
    tools: {
      book: bookingTool(desk, {}),
      fail: tool({ input: z.object({}), effect: "none", run: () => Promise.reject(new Error("no")) }) as Tool,
    },
  });
  const asked = await playRun(agent);
  expect(asked.shown).toMatchObject({ status: "waiting", gates: [{ tool: "book" }] });
  assertSafety("nothing is made again in silence", () => expect(desk.log).toEqual(["book LH1"]));
  await decideOn(asked, asked.shown, "deny");
  expect(await goOn(asked, agent)).toMatchObject({ standing: ["book (c1)"] });
  expect(desk.log).toEqual(["book LH1"]);
});

test("a drafter that revises asks before a call that is equal to one of an earlier round", async () => {
  const desk = new Desk();
  const role = (instructions: string) => ({ instructions });
  const { agent } = roleAgent(
    debate({
      rounds: 2,
      drafter: { ...role("Draft."), tools: ["book"] },
      critic: role("Object."),
      judge: role("Judge."),
    }),
    {
      reply: ({ instructions, messages, calls }: Conversation): ScriptedReply => {
        if (instructions.includes("Object.")) return { text: "longer" };
        if (instructions.includes("Judge.")) return { text: '{"score": 0.4, "why": "so"}' };
        if (calls.length === 0) return { calls: [{ tool: "book", args: { flight: "LH1" } }] };
        return {
          text: messages.some(({ text }) => text.startsWith("Revise")) ? "another draft of all of it" : "a draft",
        };
      },
      tools: { book: bookingTool(desk, {}) },
    },
  );
  const asked = await playRun(agent);
  expect(asked.shown).toMatchObject({ status: "waiting", gates: [{ call: "c2" }] });
  assertSafety("nothing is made again in silence", () => expect(desk.log).toEqual(["book LH1"]));
});

/** A boss of two rounds that books by itself, and a clerk that acts nowhere. */
const BOSS = {
  ...{ workers: ["clerk"], rounds: 2, maxBeats: 40, merger: { instructions: "Merge." } },
  boss: { instructions: "Hand out.", tools: ["book"] },
};

test.each([
  ["orchestrator", orchestrator(BOSS)],
  ["hierarchical", hierarchical({ ...BOSS, levels: 3 })],
  [
    "pipeline with an orchestrator in its stage",
    pipeline({ stages: [{ name: "work", instructions: "Work.", topology: orchestrator(BOSS), gate: () => true }] }),
  ],
])("another round of a boss asks before a call that is equal to one of an earlier round: %s", async (_, topology) => {
  const desk = new Desk();
  const clerk = roleAgent(react({ maxBeats: 5 }), {
    name: "clerk",
    reply: () => ({ text: "a memo of the clerk" }),
  }).agent;
  const { agent } = roleAgent(topology, {
    reply: ({ instructions, messages, calls }: Conversation): ScriptedReply => {
      if (instructions.includes("Merge.")) return { text: "merged" };
      const isLater = messages.some(({ text }) => text.startsWith("Reports so far"));
      if (calls.length > 0) return { text: "that is all" };
      const book = { tool: "book", args: { flight: "LH1" } };
      return { calls: isLater ? [book] : [{ tool: "clerk", args: {} }, book] };
    },
    tools: {
      book: bookingTool(desk, {}),
      clerk: childTool({
        agent: "clerk",
        description: "",
        input: z.object({}),
        output: z.string(),
        budget: { beats: 5 },
      }) as Tool,
    },
  });
  const asked = await playRun(agent, { others: [clerk] });
  expect(asked.shown).toMatchObject({ status: "waiting", gates: [{ tool: "book" }] });
  assertSafety("nothing is made again in silence", () => expect(desk.log).toEqual(["book LH1"]));
});

test("what a drafter inside a stage did in an earlier round is undone with the stage", async () => {
  const desk = new Desk();
  const role = (instructions: string) => ({ instructions });
  const drafter = { ...role("Draft."), tools: ["book"] };
  const { agent } = roleAgent(
    pipeline({
      stages: [
        {
          ...{ name: "write", instructions: "Write." },
          gate: ({ output }) => output.startsWith("final") || "it is too early",
          topology: debate({ rounds: 2, drafter, critic: role("Object."), judge: role("Judge.") }),
        },
      ],
    }),
    {
      reply: ({ instructions, messages, calls }: Conversation): ScriptedReply => {
        const isAgain = messages.some(({ text }) => text.includes("not accepted"));
        const isRevision = messages.some(({ text }) => text.startsWith("Revise") || text.includes("\nRevise"));
        if (instructions.includes("Object.")) return { text: "longer" };
        if (instructions.includes("Judge.")) {
          const isGood = isAgain || messages.some(({ text }) => text.includes("another draft"));
          return { text: JSON.stringify({ score: isGood ? 1 : 0.4, why: "so" }) };
        }
        if (!isRevision && calls.length === 0) return { calls: [{ tool: "book", args: { flight: "LH1" } }] };
        return { text: isAgain ? "final draft" : isRevision ? "another draft of all of it" : "a draft" };
      },
      tools: { book: bookingTool(desk, undoBy(desk)) },
    },
  );
  const { shown } = await playRun(agent);
  expect(shown).toMatchObject({ status: "completed", standing: [] });
  assertSafety("one booking stands", () => expect(desk.log).toEqual(["book LH1", "cancel LH1", "book LH1"]));
});

test("a hand-off of a discarded stage asks where its child acted, and an equal one is refused while that stands", async () => {
  const desk = new Desk();
  const child = roleAgent(react({ maxBeats: 5 }), {
    name: "clerk",
    reply: ({ calls }) =>
      calls.length === 0 ? { calls: [{ tool: "book", args: { flight: "LH1" } }] } : { text: "the flight is booked" },
    tools: { book: bookingTool(desk, undoBy(desk)) },
  }).agent;
  const { agent } = roleAgent(
    pipeline({
      stages: [
        {
          ...{ name: "hand", instructions: "Hand out." },
          gate: ({ output }) => output.startsWith("again") || "it is too early",
        },
      ],
    }),
    {
      reply: ({ messages, calls }: Conversation): ScriptedReply => {
        const isAgain = messages.some(({ text }) => text.includes("not accepted"));
        if (calls.length === 0) return { calls: [{ tool: "clerk", args: {} }] };
        return { text: `${isAgain ? "again" : "first"}: ${JSON.stringify(calls.map(({ result }) => result))}` };
      },
      tools: {
        clerk: childTool({ agent: "clerk", description: "", input: z.object({}), budget: { beats: 5 } }) as Tool,
      },
    },
  );
  const asked = await playRun(agent, { others: [child] });
  expect(asked.shown).toMatchObject({ status: "blocked", unknown: [{ call: "undo-c1", tool: "clerk", byHand: true }] });
  await answer(asked, "undo-c1", "failed");
  await asked.harness.runForTime([agent, child], MS.hour);
  expect(await show(asked.harness.world, asked.run)).toMatchObject({
    ...{ status: "completed", standing: ["clerk (c1)"] },
    result: expect.stringMatching(/^again: .*AlreadyActed: c1 handed this task to clerk in work that is repeated/),
  });
  assertSafety("no child books again in silence", () => expect(desk.log).toEqual(["book LH1"]));
});
