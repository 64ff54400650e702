/** The diagnosis: each row of its table with the evidence of a run that shows it. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { renderDiagnosis } from "../../src/render/diagnosis.ts";
import { plain } from "../../src/render/paint.ts";
import { checksumOf } from "../../src/codec/checksum.ts";
import type { Crack } from "../../src/core/crack.ts";
import { type DiagnosisLine, diagnose, findingsIn } from "../../src/operations/diagnose.ts";
import type { LedgerEntry, TimelineEntry } from "../../src/operations/views.ts";
import { type ScriptedReply, pipeline, react, tool } from "../../src/index.ts";
import type { Row } from "../../src/protocol/row.ts";
import { boss, worker } from "../support/agents/workers.ts";
import { household } from "../support/runs/parent-steps.ts";
import { AT, SHA, callPart, EVENT } from "../support/states/states-and-events.ts";
import { playRun, roleAgent } from "../support/runs/topology-run.ts";

const at = (event: object): TimelineEntry => ({ version: 3, epoch: 2, at: AT, ...event }) as TimelineEntry;
const signal = (crack: Crack): TimelineEntry => at({ kind: "CrackSignalled", crack, why: `why ${crack}`, times: 1 });
const seenIn = (findings: readonly DiagnosisLine[] | null) =>
  (findings ?? []).filter(({ evidence }) => evidence.length > 0);
const none = { calls: [], silent: [] };

test.each<[Crack, string, RegExp]>([
  ["runaway", "react", /maxBeats and budget/],
  ["lostHandoff", "orchestrator", /end of each child was delivered/],
  ["bossDeath", "orchestrator", /takeovers of the orchestrator/],
  ["workerSilence", "orchestrator", /run of the worker/],
  ["rootBottleneck", "hierarchical", /shards/],
  ["cascadingPoison", "pipeline", /output of the first stage/],
  ["stalePlan", "plan-execute", /planTtl/],
  ["deadlock", "debate", /draft that was shipped/],
])("a signal of %s leads to its first response", (crack, topology, response) => {
  const [found, ...others] = seenIn(findingsIn([signal(crack)], none));
  expect(found).toMatchObject({
    likely: crack,
    topology,
    evidence: [`version 3: why ${crack}`],
    response: expect.stringMatching(response),
  });
  expect(others).toEqual([]);
});

describe("a duplicate effect", () => {
  const entry = (change: Partial<LedgerEntry>): LedgerEntry => ({
    ...{ call: "c1", tool: "mail", effect: "keyed", key: "k1", status: "succeeded", attempts: 1, externalId: null },
    ...{ evidence: "", intendedAt: AT, settledAt: AT, ...change },
  });
  const intents = ["c1", "c2"].map((call) =>
    at({ kind: "ToolIntended", call, effect: "keyed", key: call, argsDigest: SHA }),
  );

  test("is found in the ledger: the same arguments under two keys", () => {
    const found = seenIn(findingsIn(intents, { calls: [entry({}), entry({ call: "c2", key: "k2" })], silent: [] }));
    const evidence = ["mail ran as c1 and as c2 with the same arguments, under the keys k1 and k2"];
    expect(found).toMatchObject([{ likely: "duplicateEffect", evidence, response: expect.stringContaining("key") }]);
  });

  test("is found where a call without a key was released again", () => {
    const found = seenIn(
      findingsIn(intents, { calls: [entry({ effect: "unsafe", key: null, attempts: 2 })], silent: [] }),
    );
    expect(found[0]?.evidence).toEqual(["mail (c1) was released 2 times, and no key lets the service see that"]);
  });

  test("is found where the service made two things of one key, whatever the arguments were", () => {
    const [first, second] = [entry({ externalId: "mail-1" }), entry({ call: "c2", externalId: "mail-2" })];
    const found = seenIn(findingsIn([], { calls: [first, second], silent: [] }));
    const evidence =
      "mail ran as c1 and as c2 under the key k1, and the service made mail-1 and mail-2: it ignores the key";
    expect(found).toMatchObject([{ likely: "duplicateEffect", evidence: [evidence] }]);
    const same = entry({ call: "c2", externalId: "mail-1" });
    const other = entry({ call: "c2", tool: "pay", externalId: "pay-1" });
    for (const each of [same, other, entry({ call: "c2" })])
      expect(seenIn(findingsIn([], { calls: [first, each], silent: [] }))).toEqual([]);
  });

  test("is none where the first was undone before the second was made under the same key", () => {
    // The second call found what the first had made, and one undo takes it back.
    const made = [entry({ externalId: "mail-1", status: "compensated" }), entry({ call: "c2", externalId: "mail-1" })];
    const undo = entry({ call: "undo-c1", undoes: "c1", key: "undo-k1" });
    const third = entry({ call: "c3", externalId: "mail-2" });
    expect(seenIn(findingsIn(intents, { calls: [...made, undo, third], silent: [] }))).toEqual([]);
    const fourth = entry({ call: "c4", externalId: "mail-3" });
    expect(seenIn(findingsIn(intents, { calls: [...made, undo, third, fourth], silent: [] }))).toMatchObject([
      { likely: "duplicateEffect", evidence: [expect.stringContaining("the service made mail-2 and mail-3")] },
    ]);
  });

  test("is none where a human said that the first did not happen, and is one where it did", () => {
    const calls = [entry({ status: "reconciled" }), entry({ call: "c2", key: "k2" })];
    const told = (as: "failed" | "succeeded") =>
      at({ kind: "ToolResultReconciled", call: "c1", answer: { as, by: "ada", note: null, value: null } });
    const seen = (as: "failed" | "succeeded") => seenIn(findingsIn([...intents, told(as)], { calls, silent: [] }));
    expect(seen("failed")).toEqual([]);
    expect(seen("succeeded")).toMatchObject([{ likely: "duplicateEffect" }]);
  });

  test("is none where the same value is written again", () => {
    const calls = [
      entry({ effect: "idempotent", attempts: 2 }),
      entry({ effect: "idempotent", call: "c2", key: "k2", attempts: 1 }),
    ];
    expect(seenIn(findingsIn(intents, { calls, silent: [] }))).toEqual([]);
  });

  test("is none where two hand-offs of one task did nothing outside, and is one where both did", () => {
    const dispatched = ["c1", "c2"].map((call) =>
      at({ kind: "ChildDispatched", call, child: `local-${call}`, try: 1 }),
    );
    const outside = { calls: [{ tool: "mail", call: "c1", key: "k", outcome: "succeeded" as const }] };
    const seen = (did: Partial<LedgerEntry>) => {
      const calls = [entry(did), entry({ ...did, call: "c2", key: "k2" })];
      return seenIn(findingsIn([...intents, ...dispatched], { calls, silent: [] }));
    };
    expect(seen({})).toEqual([]);
    expect(seen({ outside })).toMatchObject([{ likely: "duplicateEffect" }]);
  });

  test("is none under one key, for a reader, or when it was undone", () => {
    const quiet = [
      entry({ call: "c2" }),
      entry({ call: "c2", effect: "none", key: null }),
      entry({ call: "c2", key: "k2", status: "compensated" }),
    ];
    for (const second of quiet)
      expect(seenIn(findingsIn(intents, { calls: [entry({}), second], silent: [] }))).toEqual([]);
  });
});

test("a runaway shows without a signal, too: the same call again and again, with the deaths in between", () => {
  const asked = Array.from({ length: 5 }, () => at(EVENT.replied([callPart("poll")])));
  const intents = asked.map((_, index) =>
    at({ kind: "ToolIntended", call: `c${index + 1}`, effect: "none", key: "", argsDigest: SHA }),
  );
  const death = at({
    kind: "RecoveryDecided",
    rule: "takeover",
    why: "",
    action: { kind: "takeover", from: "x", takeovers: 1 },
  });
  const [found] = seenIn(findingsIn([...asked, ...intents, death], none));
  expect(found).toMatchObject({
    likely: "runaway",
    evidence: [expect.stringMatching(/^poll was called 5 times .*c1 to c5.*1 takeovers/)],
  });
  expect(seenIn(findingsIn([...asked.slice(1), ...intents.slice(1)], none))).toEqual([]);
});

test("whole runs are diagnosed from their events", async () => {
  const look = tool({ input: z.object({}), effect: "none", run: () => "the same" });
  const poll = (): ScriptedReply => ({ calls: [{ tool: "look", args: {} }] });
  const looping = await playRun(
    roleAgent(react({ maxBeats: 9 }), { reply: poll, tools: { look }, loops: "ignore" }).agent,
  );
  const findings = await diagnose(looping.harness.world, looping.run);
  expect(seenIn(findings)).toMatchObject([
    {
      likely: "runaway",
      evidence: [expect.stringContaining("8 of 9 beats"), expect.stringContaining("look was called 9 times")],
    },
  ]);
  expect(findings).toHaveLength(14);
  const topology = pipeline({ stages: [{ name: "write", instructions: "Write." }], endToEnd: () => "it is wrong" });
  const poisoned = await playRun(roleAgent(topology, { reply: () => ({ text: "It is." }) }).agent);
  expect(seenIn(await diagnose(poisoned.harness.world, poisoned.run)).map(({ likely }) => likely)).toEqual([
    "cascadingPoison",
  ]);
  expect(await diagnose(poisoned.harness.world, "local-none")).toBeNull();
  // Neither a tool that is asked twice nor a pipeline whose end holds is a finding.
  const asking: ScriptedReply[] = [poll(), poll(), { text: "It is the same." }];
  const asks = roleAgent(react({ maxBeats: 9 }), {
    reply: () => asking.shift() ?? expect.fail("a fourth call"),
    ...{ tools: { look }, loops: "ignore" as const },
  });
  const healthy = pipeline({ stages: [{ name: "write", instructions: "Write." }], endToEnd: () => true });
  for (const agent of [asks.agent, roleAgent(healthy, { reply: () => ({ text: "It is." }) }).agent]) {
    const { harness, run, shown } = await playRun(agent);
    expect(shown?.status).toBe("completed");
    expect(seenIn(await diagnose(harness.world, run))).toEqual([]);
  }
});

test.each([
  ["ignores the keys that it gets", false],
  ["honours the keys that it gets", true],
])("a run whose service %s", async (_, honours) => {
  const made: string[] = [];
  const mail = tool({
    ...{ input: z.object({ text: z.string() }), effect: "keyed", key: () => "welcome_ada" },
    run: ({ key }) => {
      if (!honours || !made.includes(key)) made.push(key);
      return `mail-${made.length}`;
    },
    externalId: String,
  });
  const replies: ScriptedReply[] = [
    { calls: [{ tool: "mail", args: { text: "Hello." } }] },
    { calls: [{ tool: "mail", args: { text: "Hello." } }] },
    { text: "Sent." },
  ];
  const { agent } = roleAgent(react({ maxBeats: 9 }), {
    ...{ reply: () => replies.shift() ?? expect.fail("a fourth call"), tools: { mail } },
  });
  const { harness, run, shown } = await playRun(agent);
  expect(shown?.status).toBe("completed");
  expect(seenIn(await diagnose(harness.world, run)).map(({ likely, evidence }) => [likely, ...evidence])).toEqual(
    honours ? [] : [["duplicateEffect", expect.stringMatching(/mail-1 and mail-2: it ignores the key$/)]],
  );
});

test("a child that ended unheard, is gone or cannot be read shows as a lost hand-off", async () => {
  const house = await household([boss({ children: 4 }), worker()]);
  const { world } = house.harness;
  const evidence = async () =>
    seenIn(await diagnose(world, house.run)).map(({ likely, evidence: lines }) => [likely, lines]);
  await house.runAttempt(house.run);
  const [ended, gone, damaged, working] = house.children().map(({ run }) => run);
  if (ended === undefined || gone === undefined || damaged === undefined || working === undefined)
    throw new Error("4 children");
  // All four work.
  expect(await evidence()).toEqual([]);
  await house.play(ended);
  house.remove({ run: gone });
  const row = house.harness.row(damaged);
  world.store.rows.set(damaged, {} as Row);
  const unheard = [
    `child ${gone} is gone, and its end was never taken in`,
    `the row of child ${damaged} cannot be read`,
  ];
  // The boss is well: the report waits in its inbox, and its next beat takes it in.
  const waiting = house.harness.row(house.run);
  expect(waiting.wakeCount).toBeGreaterThan(waiting.wakeCountSeen);
  expect(await evidence()).toEqual([["lostHandoff", unheard]]);
  // It is at work, too.
  const read = { ...waiting, wakeCountSeen: waiting.wakeCount };
  const seen = { ...read, checksum: checksumOf(read) };
  world.store.rows.set(house.run, { ...seen, owner: "o", leaseUntil: world.clock.now() + 1 });
  expect(await evidence()).toEqual([["lostHandoff", unheard]]);
  // It has read all that came, and the report was not there.
  world.store.rows.set(house.run, seen);
  expect(await evidence()).toEqual([
    [
      "lostHandoff",
      [
        `child ${ended} ended as completed, and its end was not taken in`,
        `child ${gone} is gone, and its end was never taken in`,
        `the row of child ${damaged} cannot be read`,
      ],
    ],
  ]);
  world.store.rows.set(house.run, waiting);
  // The boss takes in the ends of the three that are left. The fourth never reports.
  world.store.rows.set(damaged, row);
  await house.playAll();
  const lines = (await evidence()).flat(2);
  expect(lines).toContain(`child ${gone} is gone, and its end was never taken in`);
  expect(lines.filter((line) => [ended, damaged, working].some((run) => line.includes(run)))).toEqual([]);
  expect(house.harness.row(house.run).status).toBe("completed");
});

test("an end that is being delivered is not lost, and one that was not delivered for minutes is", async () => {
  const house = await household([boss({ children: 1 }), worker()]);
  const { world, clock } = house.harness;
  await house.runAttempt(house.run);
  const [child] = house.children();
  if (child === undefined) throw new Error("1 child");
  const found = async () => seenIn(await diagnose(world, house.run)).map(({ likely }) => likely);
  // It works, however long.
  clock.moveTo(clock.now() + 600_000);
  expect(await found()).toEqual([]);
  await house.play(child.run);
  world.store.rows.set(child.run, { ...house.harness.row(child.run), endNotified: false, expiresAtSec: null });
  expect(await found()).toEqual([]);
  clock.moveTo(clock.now() + 600_000);
  expect(await found()).toEqual(["lostHandoff"]);
});

test("reads well, with evidence and without", () => {
  const lines = renderDiagnosis(findingsIn([signal("stalePlan")], none), { paint: plain }).split("\n");
  expect(lines.slice(0, 3)).toEqual([
    "! stalePlan  plan-execute: a step fails with not found on something that existed when the plan was written",
    "    version 3: why stalePlan",
    "    → shorten planTtl, and write a precondition",
  ]);
  expect(lines.at(-1)).toMatch(/^no evidence of runaway, /);
  expect(renderDiagnosis(findingsIn([], none), { paint: plain })).toMatch(/^nothing in this run points to/);
});
