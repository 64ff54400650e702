/** The exact moves of a boss: rounds, memos, summaries in batches, caps, and what it may hand out. */
import { describe, expect, test } from "vitest";
import type { BossProgress } from "../../../../src/features/topologies/boss/core-options.ts";
import { HIERARCHICAL, type HierarchicalOptions } from "../../../../src/features/topologies/hierarchical/core.ts";
import { ORCHESTRATOR, type OrchestratorOptions } from "../../../../src/features/topologies/orchestrator/core.ts";
import type { CallResult, HandOff, Move, Observation, Proposed } from "../../../../src/core/topologies/topology.ts";
import { context } from "../../../support/states/topology-context.ts";

const roles = { boss: { instructions: "Plan.", tools: ["look"] }, merger: { instructions: "Merge.", model: "second" } };
const options: OrchestratorOptions = {
  ...{ kind: "orchestrator", maxBeats: 60, workers: ["ask"], ...roles },
  ...{ rounds: 2, handOffsMax: 20, fanOut: 4, batch: 3 },
};
const tree: HierarchicalOptions = { ...options, kind: "hierarchical", levels: 3, unreadMax: 3, shards: ["delegate"] };

const begun = ORCHESTRATOR.begin(options, context())?.progress as BossProgress;

const result = (call: string, change: Partial<CallResult> = {}): CallResult => ({
  ...{ call, tool: "ask", outcome: "succeeded", isRefused: false },
  ...change,
});
const refused = (call: string) => result(call, { outcome: "failed", isRefused: true });
const DUE: Observation = { kind: "due" };
const reply = (message: string): Observation => ({ kind: "reply", message, text: "" });

interface Step {
  readonly seen: Observation;
  readonly results?: readonly CallResult[];
}

const wave = (...results: readonly CallResult[]): Step => ({ seen: DUE, results });
const says = (message: string): Step => ({ seen: reply(message) });

function play(steps: readonly Step[], change: Partial<OrchestratorOptions> = {}) {
  let progress = begun;
  let move: Move<BossProgress> | null = null;
  const moves: Move<BossProgress>[] = [];
  for (const { seen, results = [] } of steps) {
    move = ORCHESTRATOR.observe(progress, seen, {
      options: { ...options, ...change },
      context: context({ results }),
    });
    if (move !== null) moves.push(move);
    if (move !== null && "progress" in move) progress = move.progress;
  }
  return { move, progress, moves };
}

describe("a round", () => {
  test("shows its memos in the order in which they were handed out, whoever reported first", () => {
    const late = [
      result("c10"),
      result("c2"),
      result("c3", { outcome: "failed" }),
      result("c1", { outcome: "failed" }),
    ];
    const { progress } = play([wave(...late)]);
    expect(progress).toMatchObject({ memos: ["c2", "c10"], lost: ["c1", "c3"] });
  });

  test("is complete when all hand-offs of the reply are settled, and names each of them", () => {
    const { move, progress } = play([wave(result("c1"), result("c2", { outcome: "failed" }), result("c3"))]);
    expect(progress).toMatchObject({ role: "boss", round: 1, memos: ["c1", "c3"], lost: ["c2"] });
    expect(move).toMatchObject({
      note: "round 1: 2 memos, 1 lost; 2 reports are there",
      say: expect.stringMatching(
        /^Reports so far:\n\n1\. The task \{"of":"c1"\} gave:\nmemo of c1\n\n2\. .*\nmemo of c3\n\nThese hand-offs gave no usable report:\n- \{"of":"c2"\}: memo of c2\n/,
      ),
    });
    expect(ORCHESTRATOR.where(progress, options)).toBe("round 2 of 2, boss: 2 memos, 1 lost");
  });

  test("counts no calls of other tools, and no work that another call has or that can be handed out later", () => {
    const seen = (code: string) =>
      ORCHESTRATOR.observe(begun, DUE, {
        options,
        context: context({ results: [refused("c1"), result("c2", { tool: "look" })], resultOf: () => `${code}: so` }),
      });
    expect([seen("Duplicate"), seen("NotYet")]).toEqual([null, null]);
    expect(play([wave(result("c2", { tool: "look" }))]).move).toBeNull();
  });

  test.each(["NotStarted", "InvalidArguments", "UnknownTool", "ChildAgentAbsent"])(
    "is over and counts when every hand-off was refused: %s",
    (code) => {
      const seen = { options, context: context({ results: [refused("c1")], resultOf: () => `${code}: so` }) };
      expect(ORCHESTRATOR.observe(begun, DUE, seen)).toMatchObject({
        note: "round 1: nothing was handed out",
        progress: { role: "boss", round: 1, memos: [], lost: [], unmade: ["c1"] },
        tell: expect.stringMatching(/Rounds left: 1\. What no worker takes, do yourself\.$/),
      });
    },
  );

  test("goes on where hand-offs were refused because too many were out, and says which", () => {
    const later = result("c2", { outcome: "failed", isRefused: true });
    const seen = (code: string) => {
      const of = {
        results: [result("c1"), later],
        resultOf: (call: string) => (call === "c2" ? `${code}: so` : "memo"),
      };
      return ORCHESTRATOR.observe(begun, DUE, { options: { ...options, rounds: 1 }, context: context(of) });
    };
    expect(seen("NotYet")).toMatchObject({
      progress: { role: "boss", round: 0, unmade: ["c2"] },
      say: expect.stringContaining('These calls were refused and handed out nothing:\n- {"of":"c2"}: NotYet: so'),
    });
    // Without another round the answer has to say what is missing.
    expect(seen("NotStarted")).toMatchObject({
      progress: { role: "merger", round: 1, unmade: ["c2"] },
      say: expect.stringContaining("NotStarted: so"),
    });
    expect(seen("Duplicate")).toMatchObject({ progress: { role: "merger", round: 1, unmade: [] } });
  });

  test("is not counted again when the same calls are seen again", () => {
    expect(play([wave(result("c1")), wave(result("c1"))]).progress).toMatchObject({ round: 1, memos: ["c1"] });
    expect(play([wave(refused("c1")), wave(refused("c1"))]).progress).toMatchObject({ round: 1, unmade: ["c1"] });
    const section = [refused("c1"), result("c2")];
    expect(play([wave(refused("c1")), wave(...section)]).progress).toMatchObject({ round: 2, unmade: ["c1"] });
  });

  test("of refusals alone ends the rounds as well: then the answer is written from what is there", () => {
    expect(play([wave(result("c1")), wave(refused("c2"))]).progress).toMatchObject({ role: "merger", unmade: ["c2"] });
    const lost = play([wave(result("c1", { outcome: "failed" })), wave(refused("c2"))]);
    expect(lost.move).toMatchObject({ kind: "fail", failure: { code: "NoMemo" } });
  });

  test("is the last one when rounds or hand-offs are used up: then the answer is written", () => {
    const last = play([wave(result("c1")), wave(result("c2"))]);
    expect(last.progress).toMatchObject({ role: "merger", round: 2 });
    expect(play([wave(result("c1"))], { handOffsMax: 1 }).progress).toMatchObject({ role: "merger" });
    expect(ORCHESTRATOR.request(last.progress, options)).toEqual({
      ...{ role: "merger", instructions: "Merge.", tools: "none", model: "second" },
    });
    expect(play([wave(result("c1")), says("m4"), says("m5")]).move).toMatchObject({ kind: "finish", message: "m5" });
  });

  test("without any memo fails the run", () => {
    const lost = wave(result("c1", { outcome: "failed" }));
    expect(play([lost, says("m4")]).move).toMatchObject({ kind: "fail", failure: { code: "NoMemo" } });
  });
});

describe("a boss", () => {
  test("that hands out nothing is told to, twice, and then fails", () => {
    const { moves } = play([says("m2"), says("m3"), says("m4")]);
    expect(moves).toMatchObject([
      { kind: "ask", tell: expect.stringMatching(/^Nothing is handed out yet\. Hand out work by calling ask:/) },
      { kind: "ask" },
      { kind: "fail", failure: { code: "NothingHandedOut" } },
    ]);
  });

  test("whose hand-offs were refused has done the work itself, also in a later round", () => {
    expect(play([{ seen: reply("m4"), results: [refused("c1")] }]).move).toMatchObject({
      kind: "finish",
      message: "m4",
    });
    expect(play([wave(refused("c1")), says("m6")]).move).toMatchObject({ kind: "finish", message: "m6" });
  });

  test("whose every hand-off is refused goes on alone after its last round, and then gives up", () => {
    const twice = play([wave(refused("c1")), wave(refused("c2"))]);
    expect(twice.move).toMatchObject({
      note: "round 2: nothing was handed out; the boss goes on alone",
      tell: expect.stringContaining("No round is left to hand out work in. Do the work yourself"),
    });
    expect(ORCHESTRATOR.request(twice.progress, options).tools).toEqual(["look"]);
    expect(play([wave(refused("c1")), wave(refused("c2")), says("m6")]).move).toMatchObject({ kind: "finish" });
    expect(play([wave(refused("c1")), wave(refused("c2")), wave(refused("c3"))]).move).toMatchObject({
      kind: "fail",
      failure: {
        code: "NothingHandedOut",
        message: "nothing was handed out in 2 rounds; the last call was refused: memo of c2",
      },
    });
    // A check that refuses its answer opens no further round.
    const again: Step = { seen: { kind: "reopened", by: "checks", why: "- sources" } };
    const { progress } = play([wave(refused("c1")), wave(refused("c2")), says("m6"), again]);
    expect(ORCHESTRATOR.request(progress, options).tools).toEqual(["look"]);
  });

  test("may call its workers and its own tools, and its merger none", () => {
    expect(ORCHESTRATOR.request(begun, options).tools).toEqual(["ask", "look"]);
  });

  test("signals a runaway before its beats are used up", () => {
    const seen = { options, context: context({ beats: { used: 48, max: 60 } }) };
    expect(ORCHESTRATOR.observe(begun, DUE, seen)).toMatchObject({ kind: "signal", cracks: [{ crack: "runaway" }] });
  });

  test("whose answer a check refuses hands out more while rounds are left, then merges again, three times", () => {
    const reopened: Step = { seen: { kind: "reopened", by: "checks", why: "- sources" } };
    const early = play([wave(result("c1")), says("m4"), says("m5"), reopened]);
    expect(early.progress).toMatchObject({ role: "boss", wish: "- sources" });
    const late = play([wave(result("c1")), wave(result("c2")), says("m5"), reopened]);
    expect(late.move).toMatchObject({ progress: { role: "merger" }, say: expect.stringContaining("- sources") });
    const again = play([wave(result("c1")), wave(result("c2")), reopened, reopened, reopened, reopened]);
    expect(again.move).toMatchObject({ kind: "fail", failure: { code: "NotDone" } });
  });
});

test("a user who writes at the end gets another round while one is left, then another answer, as often as asked", () => {
  const wish: Step = { seen: { kind: "reopened", by: "user", why: "in German" } };
  const early = play([wave(result("c1")), says("m4"), says("m5"), wish]);
  expect(early).toMatchObject({ progress: { role: "boss", refused: 0 }, move: { note: "a user wrote: in German" } });
  const late = play([wave(result("c1")), wave(result("c2")), says("m5"), wish, wish, wish, wish]);
  expect(late.progress).toMatchObject({ role: "merger", refused: 0 });
});

describe("memos", () => {
  const memos = (count: number): readonly CallResult[] =>
    Array.from({ length: count }, (_, index) => result(`c${index + 1}`));

  test("of more than a batch are summarised in batches, and no section shows more than one batch", () => {
    const steps = [wave(...memos(8)), ...["m1", "m2", "m3", "m4"].map(says)];
    const { moves, move } = play(steps, { rounds: 1 });
    const said = moves.flatMap((each) => (each.kind === "ask" ? [each.say ?? ""] : []));
    expect(said.map((each) => each.match(/^\d+\. /gm)?.length)).toEqual([3, 3, 2, 3]);
    expect(said[3]).toMatch(
      /^Write the answer from these reports:\n\n1\. text of m1\n\n2\. text of m2\n\n3\. text of m3/,
    );
    expect(move).toMatchObject({ kind: "finish", message: "m4" });
  });

  test("of many workers are summarised in passes until they fit", () => {
    let progress = begun;
    let sections = 0;
    const seen = (of: Observation, results: readonly CallResult[] = []): Move<BossProgress> | null =>
      ORCHESTRATOR.observe(progress, of, { options: { ...options, rounds: 1 }, context: context({ results }) });
    let move = seen(DUE, memos(20));
    while (move !== null && move.kind === "ask" && sections < 50) {
      sections += 1;
      progress = move.progress;
      expect(move.say?.match(/^\d+\. /gm)?.length).toBeLessThanOrEqual(3);
      move = seen(reply(`m${sections}`));
    }
    expect(move).toMatchObject({ kind: "finish" });
    // 20 memos, then 7 summaries, then 3.
    expect(sections).toBe(7 + 2 + 1);
  });

  test("that are very long are shown in part, and say so", () => {
    const long = context({ results: [result("c1")], resultOf: () => "x".repeat(9_000) });
    const move = ORCHESTRATOR.observe(begun, DUE, { options, context: long });
    expect(move).toMatchObject({ say: expect.stringContaining("(9000 characters, of which these are the first)") });
    expect(move !== null && move.kind === "ask" ? move.say?.length : 0).toBeLessThan(5_000);
  });
});

describe("a hand-off", () => {
  const before = (call: string, change: Partial<HandOff> = {}): HandOff => ({
    ...{ call, tool: "ask", args: { of: call }, digest: call, status: "out" },
    ...change,
  });
  const asked = (change: Partial<Proposed> = {}): Proposed => ({
    ...{ tool: "ask", args: { of: "new" }, digest: "new", before: [], depth: 0 },
    ...change,
  });
  const refusal = (of: Proposed, change: Partial<HierarchicalOptions> = {}, progress = begun): string | null =>
    HIERARCHICAL.refusal?.(progress, { ...tree, ...change }, of) ?? null;

  test("is refused beyond the cap of the run, also if all others are settled", () => {
    const all = Array.from({ length: 20 }, (_, index) => before(`c${index}`, { status: "failed" }));
    expect(refusal(asked({ before: all.slice(1) }))).toBeNull();
    expect(refusal(asked({ before: all }))).toMatch(/^NotStarted: 20 hand-offs are the most of this run/);
  });

  test("is refused while as many as the fan-out are out, and not for settled ones", () => {
    const out = ["c1", "c2", "c3", "c4"].map((call) => before(call));
    expect(refusal(asked({ before: out }))).toMatch(/^NotYet: 4 hand-offs wait for their reports/);
    expect(refusal(asked({ before: out.map((each) => ({ ...each, status: "succeeded" as const })) }))).toBeNull();
  });

  test("is refused on the last level", () => {
    expect(refusal(asked({ depth: 1 }))).toBeNull();
    expect(refusal(asked({ depth: 2 }))).toMatch(/^NotStarted: this run is on the last of 3 levels/);
  });

  test("with the same task is refused while the first is out or its memo is there, and allowed after it failed", () => {
    const same = asked({ digest: "c1" });
    expect(refusal({ ...same, before: [before("c1")] })).toBe("Duplicate: c1 has this task already");
    const done = before("c1", { status: "succeeded" });
    expect(refusal({ ...same, before: [done] }, {}, { ...begun, memos: ["c1"] })).toMatch(/c1 has this task/);
    expect(refusal({ ...same, before: [before("c1", { status: "failed" })] })).toBeNull();
    expect(refusal({ ...same, tool: "delegate", before: [before("c1")] })).toBeNull();
  });

  test("of a memo that an earlier run of the same stage got is made again", () => {
    expect(refusal(asked({ digest: "c1", before: [before("c1", { status: "succeeded" })] }))).toBeNull();
  });

  test("with a part that another one has is refused, since shards are disjoint", () => {
    const taken = before("c1", { args: { branches: ["Rome", "Oslo"] } });
    const shared = asked({ args: { branches: ["Bern", "Oslo"] }, before: [taken] });
    expect(refusal(shared, { partsIn: "branches" })).toMatch(/c1 has the part Oslo already; parts must be disjoint/);
    expect(refusal(shared)).toBeNull();
    expect(refusal(asked({ args: { branches: ["Bern"] }, before: [taken] }), { partsIn: "branches" })).toBeNull();
  });

  test("of a tool that is no worker is never refused", () => {
    expect(refusal(asked({ tool: "look", depth: 9 }))).toBeNull();
  });
});

describe("a root", () => {
  const of = { options: tree, context: context() };

  test("gives the first signal of a bottleneck when too many reports wait unread", () => {
    expect(HIERARCHICAL.observe(begun, { kind: "reports", unread: 2, working: 7 }, of)).toBeNull();
    expect(HIERARCHICAL.observe(begun, { kind: "reports", unread: 3, working: 6 }, of)).toEqual({
      kind: "signal",
      cracks: [{ crack: "rootBottleneck", why: "3 reports waited unread, and 6 children still worked" }],
    });
    expect(ORCHESTRATOR.observe(begun, { kind: "reports", unread: 9, working: 0 }, { ...of, options })).toBeNull();
  });

  test("hands out work to its shards alone after that signal", () => {
    const seen = { options: tree, context: context({ results: [result("c1")], wasSignalled: () => true }) };
    const move = HIERARCHICAL.observe(begun, DUE, seen);
    expect(move).toMatchObject({ progress: { sharded: true }, say: expect.stringContaining("calling delegate:") });
    expect(HIERARCHICAL.request({ ...begun, sharded: true }, tree).tools).toEqual(["delegate", "look"]);
    expect(HIERARCHICAL.request(begun, tree).tools).toEqual(["ask", "delegate", "look"]);
  });

  test("whose threshold is above its fan-out cannot show a bottleneck, and the audit says so", () => {
    expect(HIERARCHICAL.misses({ ...tree, unreadMax: 5 })).toEqual(["rootBottleneck"]);
    expect(HIERARCHICAL.misses(tree)).toEqual([]);
  });
});

test.each([
  ["workers", { workers: [] }, "write workers: the names of child tools"],
  ["a boss without instructions", { boss: { instructions: "" } }, "boss has no instructions"],
  ["no rounds", { rounds: 0 }, "rounds is 0: write a whole number from 1 to 20"],
  ["too many hand-offs", { handOffsMax: 500 }, "handOffsMax is 500: write a whole number from 1 to 200"],
  ["a fan-out above what one run may have", { fanOut: 50 }, "fanOut is 50: write a whole number from 1 to 49"],
  ["a batch of one", { batch: 1 }, "batch is 1: write a whole number from 2 to 12"],
  ["one level", { levels: 1 }, "levels is 1: write a whole number from 2 to 8"],
  ["no unread reports", { unreadMax: 0 }, "unreadMax is 0: write a whole number from 1 to 200"],
])("options with %s are refused", (_, change, why) => {
  expect(HIERARCHICAL.problems({ ...tree, ...change })).toContain(why);
  expect(HIERARCHICAL.problems(tree)).toEqual([]);
});
