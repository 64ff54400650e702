/**
 * The bounds of one world, and the relations between them that are asserted when it is composed. Bounds that hold
 * everywhere are the core's. Times are milliseconds.
 */
import { ensure } from "../core/ensure.ts";
import type { Retention } from "../core/policy/retention.ts";

/** How long things may wait, live and be kept in any world. */
export const TIMES = {
  /** A Step Functions Wait state cannot be woken, so it is short; longer waits park. */
  waitSecondsMax: 60,
  parkSecondsMax: 30 * 24 * 3600,
  /** A run that waits for code looks whether it was deployed: soon at first, then ever more rarely. */
  lookMsMin: 30_000,
  lookMsMax: 3_600_000,
  /** An object that no row names is left alone for so long: its row may be about to come. */
  orphanAgeMs: 24 * 3_600_000,
  /** No invocation of any function lives longer: what Lambda allows. */
  invocationMsMax: 15 * 60_000,
  /** How long an agent may have its ended runs kept: longer than any invocation lives, shorter than objects last. */
  hotMsMin: 3_600_000,
  hotMsMax: 90 * 24 * 3_600_000,
  /** How long the idempotency key of an ended run may be kept. Firings of schedules rely on the least. */
  keyMsMin: 24 * 3_600_000,
  keyMsMax: 366 * 24 * 3_600_000,
} as const;

/** Bounds of one world: how long one invocation may take and how far clocks may differ. */
export interface Limits {
  /** One invocation, hard: it is killed then. */
  readonly beatMs: number;
  /** What an invocation keeps free before its deadline to commit and release. */
  readonly drainMs: number;
  /** Largest difference of two clocks, plus what a kill may take: lease = deadline + this. */
  readonly skewMs: number;
  /** A tool's timeout unless it declares its own. */
  readonly toolMs: number;
  /** What a tool gets, after its signal has fired, to come to an end by itself. */
  readonly abortGraceMs: number;
  /** One model call. */
  readonly modelMs: number;
  /** How long after its caller's lease an outside request may still take effect. */
  readonly settleMs: number;
  /** A run that waits for nobody in particular is looked at again no later than this. */
  readonly idleRunMs: number;
  /** How long an ended run is kept (seed 1: 24 hours). */
  readonly retentionMs: number;
  /** How long the idempotency key of an ended run is kept, counted from the end; where its row stays longer, for as long as that. */
  readonly keyRetentionMs: number;
  /** Model replies of one invocation: more of them cost fewer claims and snapshots, and lose no effect. */
  readonly beatsPerInvocation: number;
  /** How long a chain waits before it hands over a run whose attempts keep failing. */
  readonly rescueMs: number;
  /**
   * Attempts of one entry of Beat before the run is handed to its next execution, since the history of an execution has a
   * bound. An entry that no process claimed is no death: the run goes on, and only its deadline ends it.
   */
  readonly entryAttemptsMax: number;
  /** The longest pause between two attempts of one entry, and of a run that waits for a store that does not answer. */
  readonly backoffMsMax: number;
  /**
   * Claims of one execution before its run moves to the next one: an execution's history has a bound. Not 1 in earnest:
   * a run that waits would move on instead.
   */
  readonly chainClaimsMax: number;
  /** A run that nobody holds and that did not move for so long is looked at by the sweeper. */
  readonly overdueMs: number;
  /** How long a person may take to decide about a gate (agents: 24 hours). */
  readonly gateMs: number;
}

/** The limits of a world whose invocations may take `beatMs`; everything that must fit inside is derived from it. */
export function limitsFor(beatMs: number, change: Partial<Limits> = {}): Limits {
  const drainMs = Math.min(5_000, Math.floor(beatMs / 6));
  const room = beatMs - 3 * drainMs;
  const limits: Limits = {
    beatMs,
    drainMs,
    skewMs: 1_000,
    toolMs: Math.min(30_000, room),
    abortGraceMs: Math.min(250, Math.floor(drainMs / 2)),
    modelMs: room,
    settleMs: 30_000,
    idleRunMs: 30 * 24 * 3_600_000,
    retentionMs: 24 * 3_600_000,
    keyRetentionMs: 30 * 24 * 3_600_000,
    beatsPerInvocation: 1,
    rescueMs: 60_000,
    entryAttemptsMax: 100,
    backoffMsMax: 300_000,
    chainClaimsMax: 1_200,
    overdueMs: 60_000,
    gateMs: 24 * 3_600_000,
    ...change,
  };
  assertLimits(limits);
  return limits;
}

/** Relations between bounds; a world whose limits break one does not start. */
function assertLimits(limits: Limits): void {
  const { beatMs, drainMs, toolMs, abortGraceMs, modelMs, skewMs, settleMs, retentionMs, keyRetentionMs } = limits;
  for (const [name, value] of Object.entries(limits)) {
    ensure(Number.isSafeInteger(value) && value > 0, `limit ${name} must be a positive whole number, not ${value}`);
  }
  ensure(beatMs >= 500, "a beat shorter than 500 ms cannot load, act and commit");
  ensure(toolMs + drainMs < beatMs, "tool timeout + drain margin must be less than the beat limit");
  ensure(modelMs + drainMs < beatMs, "model timeout + drain margin must be less than the beat limit");
  ensure(abortGraceMs < drainMs, "the grace after an abort must fit in the drain margin");
  ensure(limits.idleRunMs <= TIMES.parkSecondsMax * 1_000, "a run that waits must be looked at when its park is over");
  ensure(limits.gateMs < limits.idleRunMs, "a gate must expire before its run does");
  ensure(skewMs < 60_000, "clocks that differ by a minute are broken");
  ensure(TIMES.orphanAgeMs > beatMs + skewMs, "no invocation may live until what it put counts as an orphan");
  ensure(retentionMs >= 3_600_000, "an ended run must be kept for an hour at least");
  ensure(retentionMs > beatMs + skewMs + settleMs, "retention must outlast the longest lease plus settleMs");
  ensure(keyRetentionMs >= TIMES.keyMsMin, "the key of an ended run must be kept for a day at least");
  ensure(keyRetentionMs <= TIMES.keyMsMax, "the key of an ended run is kept for 366 days at most");
  ensure(beatMs <= TIMES.invocationMsMax, "a beat may not take longer than an invocation may live");
}

/** Never less than what an invocation may live, and what it sent may take: whoever tells must not outlive the row. */
export function hotMsOf(limits: Limits, retention: Retention | undefined): number {
  const { beatMs, skewMs, settleMs, retentionMs } = limits;
  return Math.max(retention?.hotMs ?? retentionMs, beatMs + skewMs + settleMs + 1);
}
