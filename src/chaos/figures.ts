/** Computes one column of the table: the results of one strategy, compared with the uninterrupted tasks. Pure. */
import type { OutsideEffect } from "../sdk/chaos.ts";
import { canonical } from "../codec/canonical.ts";
import type { Json } from "../core/json.ts";
import { type EffectDifference, compareEffects } from "./effects.ts";
import type { AnswerCounts, Outcome, Strategy } from "./strategy.ts";
import type { CallLine, Line } from "./trace.ts";

/**
 * The work that was lost with a killed process and had to be repeated, per killed task: model calls and tool calls.
 * Retries after a timeout are no such work.
 */
export interface Lost {
  readonly repliesMean: number;
  readonly repliesMax: number;
  readonly callsMean: number;
  readonly callsMax: number;
}

/** One column of the table. */
export interface Figures {
  readonly strategy: Strategy;
  readonly tasks: number;
  /** Tasks whose process was killed. In the others the chosen moment did not come. */
  readonly killed: number;
  /** Tasks that ended as the uninterrupted one did. */
  readonly survived: number;
  /** Tasks that did not end, or ended with another status. */
  readonly lost: readonly number[];
  /** Tasks that ended with another result. */
  readonly divergent: readonly number[];
  /** Duplicate effects; null if the strategy leaves no run after a kill, so nothing is repeated. */
  readonly duplicates: readonly EffectDifference[] | null;
  readonly missing: readonly EffectDifference[];
  readonly work: Lost;
  /** Tool calls that ran again because an earlier attempt had not answered in time, in all tasks. */
  readonly retries: number;
  /** The time from the kill until another process continued the task, in milliseconds; null if no process did. */
  readonly resumeMs: { readonly p50: number; readonly max: number } | null;
  readonly answers: AnswerCounts;
}

export interface Compared {
  readonly strategy: Strategy;
  readonly outcomes: readonly Outcome[];
  readonly effects: readonly OutsideEffect[];
  /** The uninterrupted outcomes, by task. */
  readonly reference: ReadonlyMap<number, Outcome>;
  /** The effects of those uninterrupted tasks. */
  readonly referenceEffects: readonly OutsideEffect[];
  readonly normalise: (result: Json) => Json;
}

/** Computes the column of one strategy. */
export function figuresOf({ strategy, outcomes, reference, normalise, referenceEffects, effects }: Compared): Figures {
  const isLost = ({ task, end }: Outcome): boolean => end?.status !== reference.get(task)?.end?.status;
  const lost = outcomes.filter(isLost);
  const alive = outcomes.filter((outcome) => !isLost(outcome));
  const resultOf = (outcome: Outcome | undefined): string => canonical(normalise(outcome?.end?.result ?? null));
  const divergent = alive.filter((outcome) => resultOf(outcome) !== resultOf(reference.get(outcome.task)));
  const killed = outcomes.filter((outcome) => outcome.killed !== null);
  const resumes = killed.flatMap(resumeMsOf).toSorted((one, other) => one - other);
  const { duplicates, missing } = compareEffects(referenceEffects, effects);
  const isForgetful = strategy === "in-process";
  return {
    strategy,
    tasks: outcomes.length,
    killed: killed.length,
    survived: alive.length,
    lost: lost.map(({ task }) => task),
    divergent: divergent.map(({ task }) => task),
    duplicates: isForgetful ? null : duplicates,
    missing: isForgetful ? [] : missing,
    work: lostWork(killed, reference),
    retries: outcomes.reduce((sum, { lines, killed: by }) => sum + retriesIn(lines, by?.pid ?? null), 0),
    resumeMs: resumes.length === 0 ? null : { p50: middle(resumes), max: resumes.at(-1) ?? 0 },
    answers: sumOf(outcomes.map(({ answers }) => answers)),
  };
}

/** Whether the column is free of failures. `cairn chaos` exits 1 if the column of cairn is not. */
export const isSound = ({ lost, divergent, duplicates, missing }: Figures): boolean =>
  lost.length + divergent.length + (duplicates ?? []).length + missing.length === 0;

const middle = (sorted: readonly number[]): number => sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;

/** The time until another process did something for the task after the kill, not counting the claim. */
function resumeMsOf({ killed, lines }: Outcome): readonly number[] {
  if (killed === null) return [];
  const others = lines.filter(({ pid, at }) => pid !== killed.pid && at >= killed.at);
  const moved = others.find((line) => line.kind !== "begun" && !(line.kind === "moment" && line.name === "claim"));
  const first = moved ?? others[0];
  return first === undefined ? [] : [first.at - killed.at];
}

interface Work {
  readonly replies: number;
  readonly calls: number;
}

/** The model calls and tool calls that a task made, without retries after timeouts. An interrupted call is paid too. */
const workIn = ({ lines, killed }: Pick<Outcome, "lines" | "killed">): Work => ({
  replies: lines.filter((line) => line.kind === "moment" && line.name === "model" && line.when === "during").length,
  calls:
    lines.filter((line) => line.kind === "call" && line.what === "begun").length -
    retriesIn(lines, killed?.pid ?? null),
});

/**
 * Attempts after an attempt of the same call whose outcome stayed unknown. An attempt without any end counts as such,
 * unless it ran in the killed process: its own process ended because the attempt outlived its timeout.
 */
function retriesIn(lines: readonly Line[], killedPid: number | null): number {
  const calls = lines.filter((line) => line.kind === "call");
  const attempts = Map.groupBy(calls, ({ tool, key, undoes }) => JSON.stringify([tool, key, undoes]));
  const isRetry = (line: CallLine, index: number, all: readonly CallLine[]): boolean => {
    const before = all[index - 1];
    if (line.what !== "begun" || before === undefined) return false;
    return before.what === "unsure" || (before.what === "begun" && before.pid !== killedPid);
  };
  return [...attempts.values()].reduce((sum, all) => sum + all.filter(isRetry).length, 0);
}

/**
 * Lost work. For a task that ended: the work beyond that of the uninterrupted task. For a task that did not: all of its
 * work.
 */
function lostWork(killed: readonly Outcome[], reference: ReadonlyMap<number, Outcome>): Lost {
  const lost = killed.map((outcome): Work => {
    const { task, end } = outcome;
    const [done, due] = [workIn(outcome), workIn(reference.get(task) ?? { lines: [], killed: null })];
    if (end === null) return done;
    return { replies: Math.max(0, done.replies - due.replies), calls: Math.max(0, done.calls - due.calls) };
  });
  const [replies, calls] = [lost.map((work) => work.replies), lost.map((work) => work.calls)];
  return {
    repliesMean: mean(replies),
    repliesMax: Math.max(0, ...replies),
    callsMean: mean(calls),
    callsMax: Math.max(0, ...calls),
  };
}

const mean = (numbers: readonly number[]): number =>
  numbers.length === 0 ? 0 : numbers.reduce((sum, each) => sum + each, 0) / numbers.length;

const sumOf = (all: readonly AnswerCounts[]): AnswerCounts => ({
  approved: all.reduce((sum, { approved }) => sum + approved, 0),
  denied: all.reduce((sum, { denied }) => sum + denied, 0),
  answered: all.reduce((sum, { answered }) => sum + answered, 0),
  confirmed: all.reduce((sum, { confirmed }) => sum + confirmed, 0),
  repeated: all.reduce((sum, { repeated }) => sum + repeated, 0),
});
