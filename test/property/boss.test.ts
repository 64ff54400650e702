/** The laws of a boss over random hand-offs, caps and batches. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { BossOptions, BossProgress } from "../../src/features/topologies/boss/core-options.ts";
import { handOffRefusal } from "../../src/features/topologies/boss/core-hand-offs.ts";
import { ORCHESTRATOR, type OrchestratorOptions } from "../../src/features/topologies/orchestrator/core.ts";
import type { CallResult, HandOff, Move, Observation } from "../../src/core/topologies/topology.ts";
import { context } from "../support/states/topology-context.ts";

const roles = { boss: { instructions: "Plan." }, merger: { instructions: "Merge." } };

const caps = fc.record({
  rounds: fc.integer({ min: 1, max: 5 }),
  handOffsMax: fc.integer({ min: 1, max: 40 }),
  batch: fc.integer({ min: 2, max: 6 }),
});

/** The outcomes of each round; an empty round is a reply without a call. */
const rounds = fc.array(fc.array(fc.boolean(), { maxLength: 20 }), { minLength: 1, maxLength: 7 });

type Known = Readonly<Record<string, readonly string[]>>;

/** What the items in a section stand for: `[c1]` is the memo of a call, `<m1>` the summary in a message. */
const leavesIn = (say: string, known: Known): readonly string[] =>
  [...say.matchAll(/\[(c\d+)\]|<(m\d+)>/g)].flatMap(([, call, message]) =>
    call === undefined ? (known[message ?? ""] ?? []) : [call],
  );

interface Played {
  readonly end: Move<BossProgress>;
  readonly answer: readonly string[];
  readonly sections: readonly (readonly string[])[];
  readonly memos: readonly string[];
  readonly progress: BossProgress;
}

/** Plays a whole run. `dies`: each observation is made twice from the stored progress, as after a death. */
function play(
  change: Pick<BossOptions, "rounds" | "handOffsMax" | "batch">,
  given: readonly (readonly boolean[])[],
  dies: boolean,
): Played {
  const options: OrchestratorOptions = {
    ...{ kind: "orchestrator", maxBeats: 900, workers: ["ask"], ...roles, fanOut: 49 },
    ...change,
  };
  let progress = ORCHESTRATOR.begin(options, context())?.progress as BossProgress;
  const [sections, memos, known]: [string[][], string[], Record<string, string[]>] = [[], [], {}];
  let [results, calls, round]: [CallResult[], number, number] = [[], 0, 0];
  let say = "";
  const observe = (seen: Observation): Move<BossProgress> | null => {
    const of = {
      options,
      context: context({
        results,
        resultOf: (call) => (memos.includes(call) ? `[${call}]` : "lost"),
        textOf: (message) => `<${message}>`,
      }),
    };
    const move = ORCHESTRATOR.observe(progress, seen, of);
    if (dies) {
      const stored = JSON.parse(JSON.stringify(progress)) as BossProgress;
      expect(ORCHESTRATOR.observe(stored, seen, of)).toEqual(move);
    }
    return move;
  };
  for (let step = 1; step < 400; step += 1) {
    const wave = progress.role === "boss" ? (given[round] ?? []) : [];
    const room = options.handOffsMax - progress.memos.length - progress.lost.length;
    if (progress.role === "boss") round += 1;
    const made = wave.slice(0, room).map((isMemo): CallResult => {
      calls += 1;
      if (isMemo) memos.push(`c${calls}`);
      return { call: `c${calls}`, tool: "ask", outcome: isMemo ? "succeeded" : "failed", isRefused: false };
    });
    results = [...results, ...made];
    known[`m${step}`] = [...leavesIn(say, known)];
    const move = observe(made.length > 0 ? { kind: "due" } : { kind: "reply", message: `m${step}`, text: "" });
    if (move === null || move.kind !== "ask") {
      const end = move as Move<BossProgress>;
      const answer = end.kind === "finish" ? (known[end.message ?? ""] ?? []) : [];
      return { end, answer, sections, memos, progress };
    }
    progress = move.progress;
    if (move.say === undefined) continue;
    say = move.say;
    results = [];
    sections.push([...say.matchAll(/^\d+\. /gm)].map(([item]) => item));
  }
  throw new Error("a boss without end");
}

const holds = (law: (played: Played, of: { readonly batch: number; readonly rounds: number }) => void): void => {
  fc.assert(
    fc.property(caps, rounds, fc.boolean(), (change, given, dies) => {
      law(play(change, given, dies), change);
    }),
    { numRuns: 400 },
  );
};

test("an answer is made of each memo once, however they are summarised", () => {
  let merged = 0;
  holds(({ end, answer, memos, sections }) => {
    if (end.kind !== "finish") return;
    expect(answer.toSorted()).toEqual(memos.toSorted());
    if (sections.length > 4) merged += 1;
  });
  expect(merged).toBeGreaterThan(50);
});

test("no section shows more than one batch, and no run has more rounds than it may", () => {
  holds(({ sections, progress }, { batch, rounds: most }) => {
    for (const items of sections) expect(items.length).toBeLessThanOrEqual(batch);
    expect(progress.round).toBeLessThanOrEqual(most);
  });
});

test("a run without a memo fails, and every other one ends with an answer", () => {
  holds(({ end, memos }) => expect(end.kind).toBe(memos.length === 0 ? "fail" : "finish"));
});

test("whatever a boss proposes, its caps hold, and no task and no part is out or done twice", () => {
  const proposal = fc.record({
    parts: fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f"), { minLength: 1, maxLength: 2 }),
    settles: fc.constantFrom("out", "succeeded", "failed"),
  });
  let refused = 0;
  const law = (proposals: readonly { readonly parts: string[]; readonly settles: HandOff["status"] }[]): void => {
    const made: HandOff[] = [];
    for (const [index, { parts, settles }] of proposals.entries()) {
      const of = { tool: "ask", args: { parts }, digest: parts.join(), before: made, depth: 1 };
      const limits = { workers: ["ask"], handOffsMax: 6, fanOut: 3, levels: 3, partsIn: "parts" };
      if (handOffRefusal(limits, of) === null) made.push({ call: `c${index}`, ...of, status: "out" });
      else refused += 1;
      const last = made.findLastIndex(({ status }) => status === "out");
      const open = made[last];
      if (open !== undefined) made[last] = { ...open, status: settles };
      const standing = made.filter(({ status }) => status !== "failed");
      const all = standing.flatMap(({ args }) => (args as { parts: string[] }).parts);
      expect(new Set(all).size).toBe(all.length);
      expect(made.length).toBeLessThanOrEqual(6);
      expect(made.filter(({ status }) => status === "out").length).toBeLessThanOrEqual(3);
    }
  };
  fc.assert(fc.property(fc.array(proposal, { maxLength: 20 }), law), { numRuns: 500 });
  expect(refused).toBeGreaterThan(500);
});
