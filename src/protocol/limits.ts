/**
 * The limits of one world, and the relations between them that are checked when the world is composed. Limits that are
 * the same in every world are in `src/core/limits.ts`. Times are milliseconds unless the name says otherwise.
 */
import { ensure } from "../core/ensure.ts";
import type { RunRetention } from "../core/policy/retention.ts";

/** How long things may wait, live and be kept in every world. */
export const TIMES = {
  /** The longest Wait. A Step Functions Wait state cannot be woken, so it is short; longer waits park. */
  waitSecondsMax: 60,
  parkSecondsMax: 30 * 24 * 3600,
  /** The first and the longest pause between two polls of a run that waits for a deployment. The pauses grow. */
  lookMsMin: 30_000,
  lookMsMax: 3_600_000,
  /** The age from which an object that no row names is an orphan. A younger one may still get its row. */
  orphanAgeMs: 24 * 3_600_000,
  /** The longest life of an invocation of any function: what Lambda allows. */
  invocationMsMax: 15 * 60_000,
  /** How long an agent may keep its ended runs: longer than an invocation lives, shorter than objects are kept. */
  hotMsMin: 3_600_000,
  hotMsMax: 90 * 24 * 3_600_000,
  /** How long the idempotency key of an ended run may be kept. Firings of schedules rely on the minimum. */
  keyMsMin: 24 * 3_600_000,
  keyMsMax: 366 * 24 * 3_600_000,
  /** How long the audit log may keep who did what. */
  auditMsMin: 24 * 3_600_000,
  auditMsMax: 3_660 * 24 * 3_600_000,
} as const;

/** The limits of one world: how long things may take in it, and how far clocks may differ. */
export interface Limits {
  /** The hard limit of one invocation, which is killed then. */
  readonly beatMs: number;
  /** The time that an invocation keeps free before its deadline to commit and release. */
  readonly drainMs: number;
  /** The largest difference of two clocks, plus the time that a kill may take: lease = deadline + this. */
  readonly skewMs: number;
  /** A tool's timeout unless it declares its own. */
  readonly toolMs: number;
  /** The time that a tool gets to end by itself after its signal has fired. */
  readonly abortGraceMs: number;
  /** The timeout of one model call. */
  readonly modelMs: number;
  /** How long after its caller's lease a request to an external service may still take effect. */
  readonly settleMs: number;
  /** How long a run may go without progress or a message. Then it ends as `Expired`. */
  readonly idleRunMs: number;
  /** How long an ended run is kept, 24 hours by default. */
  readonly retentionMs: number;
  /**
   * How long the idempotency key of an ended run is kept, counted from the end. A row that stays longer keeps it
   * longer.
   */
  readonly keyRetentionMs: number;
  /** How long the audit log keeps who did what. */
  readonly auditMs: number;
  /** What the model calls of all runs may cost in a day (UTC), in millionths of a dollar. The largest number: no cap. */
  readonly spendMicroUsdPerDay: number;
  /** Model replies of one invocation. More of them cost fewer claims and snapshots, and lose no effect. */
  readonly beatsPerInvocation: number;
  /** How long a chain waits before it hands over a run whose attempts keep failing. */
  readonly rescueMs: number;
  /**
   * Attempts of one entry of Beat before the run moves to its next execution, since the history of an execution is
   * bounded. An entry that no process claimed counts no death: the run goes on, and only its deadline ends it.
   */
  readonly entryAttemptsMax: number;
  /**
   * The longest pause between two attempts of one entry, and the longest pause of a run whose store does not answer.
   */
  readonly backoffMsMax: number;
  /**
   * Claims of one execution before its run moves to the next one, since the history of an execution is bounded. Do not
   * deploy 1: a run that waits would move on instead.
   */
  readonly chainClaimsMax: number;
  /**
   * How long a park may last with an open execution; a longer one ends its execution. Longer than any park: none does.
   * It needs a sweeper that comes several times within it.
   */
  readonly openParkMs: number;
  /** The sweeper checks a run that has no owner and did not move for this long. */
  readonly overdueMs: number;
  /** How long a human may take to decide about a gate (agents: 24 hours). */
  readonly gateMs: number;
}

/**
 * The limits of a world whose invocations may take `beatMs`. Every limit that must fit inside derives from it. Throws
 * if they contradict each other.
 */
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
    auditMs: 90 * 24 * 3_600_000,
    spendMicroUsdPerDay: Number.MAX_SAFE_INTEGER,
    beatsPerInvocation: 1,
    rescueMs: 60_000,
    entryAttemptsMax: 100,
    backoffMsMax: 300_000,
    chainClaimsMax: 1_200,
    openParkMs: TIMES.parkSecondsMax * 1_000 + 1,
    overdueMs: 60_000,
    gateMs: 24 * 3_600_000,
    ...change,
  };
  assertLimits(limits);
  return limits;
}

/** Checks the relations between the limits. A world whose limits break one does not start. */
function assertLimits(limits: Limits): void {
  const { beatMs, drainMs, toolMs, abortGraceMs, modelMs, skewMs, settleMs, retentionMs, keyRetentionMs } = limits;
  for (const [name, value] of Object.entries(limits)) {
    ensure(Number.isSafeInteger(value) && value > 0, `limit ${name} must be a positive whole number, not ${value}`);
  }
  ensure(beatMs >= 500, "a beat shorter than 500 ms cannot load, act and commit");
  ensure(toolMs + drainMs < beatMs, "tool timeout + drain margin must be less than the beat limit");
  ensure(modelMs + drainMs < beatMs, "model timeout + drain margin must be less than the beat limit");
  ensure(abortGraceMs < drainMs, "the grace after an abort must fit in the drain margin");
  ensure(limits.idleRunMs <= TIMES.parkSecondsMax * 1_000, "a waiting run must be checked when its park ends");
  ensure(limits.gateMs < limits.idleRunMs, "an approval must expire before its run does");
  ensure(skewMs < 60_000, "skewMs must be less than a minute");
  ensure(TIMES.orphanAgeMs > beatMs + skewMs, "an invocation must end before its objects count as orphans");
  ensure(retentionMs >= 3_600_000, "an ended run must be kept for an hour at least");
  ensure(retentionMs > beatMs + skewMs + settleMs, "retention must outlast the longest lease plus settleMs");
  ensure(keyRetentionMs >= TIMES.keyMsMin, "the key of an ended run must be kept for a day at least");
  ensure(keyRetentionMs <= TIMES.keyMsMax, "the key of an ended run is kept for 366 days at most");
  ensure(limits.auditMs >= TIMES.auditMsMin, "the audit log must be kept for a day at least");
  ensure(limits.auditMs <= TIMES.auditMsMax, "the audit log is kept for ten years at most");
  ensure(beatMs <= TIMES.invocationMsMax, "a beat may not take longer than an invocation may live");
}

/** The longest time that an approval waits for a human: a day less than a run may be idle. */
export const APPROVAL_MS_MAX = 29 * 24 * 3_600_000;

/** How long an approval waits in this world. It is decided, or asked again, before its run expires. */
export const approvalMs = ({ idleRunMs }: Limits, wantedMs: number): number =>
  Math.min(wantedMs, Math.floor((idleRunMs * 29) / 30));

/**
 * How long an ended run is kept, in milliseconds. It covers at least the life of an invocation plus the time in which
 * its requests may still take effect. So the process that reports the end does not outlive the row.
 */
export function hotMsOf(limits: Limits, retention: RunRetention | undefined): number {
  const { beatMs, skewMs, settleMs, retentionMs } = limits;
  return Math.max(retention?.hotMs ?? retentionMs, beatMs + skewMs + settleMs + 1);
}
