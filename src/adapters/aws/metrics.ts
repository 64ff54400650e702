/**
 * The metrics of a deployment, and the telemetry records that count in each. The code that writes metrics and the code
 * that defines alarms share this table, so no alarm waits for a metric that is never written.
 *
 * Each metric costs money in every month in which it counts anything. So there is one dimension, the deployment. Values
 * without a bound (runs, agents, error texts) are only in the log.
 */
import { ALL_CRACKS, type CrackRow } from "../../core/topologies/cracks.ts";
import type { TelemetryRecord } from "../../ports/world.ts";

export const NAMESPACE = "cairn";

/** Powertools gives every metric this dimension. Its value is the deployment, since several may share an account. */
export const DIMENSION = "service";

/** Counts of normal operation, with what each counts. */
const FACTS = {
  Beats: "claims of runs: each is an invocation that began to work on a run",
  Takeovers: "claims of runs that another invocation never released",
  RunsWaiting: "runs that began to wait for a human's approval",
  RunsBlocked: "runs that began to wait for a human, since the outcome of a call is unknown",
  RunsCompleted: "runs that completed",
  RunsFailed: "runs that failed, for any reason",
  RunsCancelled: "runs that were cancelled",
  CrashLoop: "runs that a beat failed, since too many of their processes died",
  Abandoned: "runs that the sweeper failed, since too many of their processes died",
  Expired: "runs that failed, since they waited longer than a run may wait",
  Runaway: "first signals of a runaway: 80 % of the beats are used, or a call repeats",
  Oscillation: "runs that were stopped, since two of their calls alternated",
  NotDone: "runs that failed, since their definition of done did not hold when their models were done",
  CascadingPoison: "falls of an end-to-end check while all stages of its pipeline were green",
  StalePlan: "plans that were given up, since the world had moved",
  PartialExecution: "steps of a plan that failed",
  Deadlock: "debates whose rounds were used up without convergence",
  Capitulation: "rounds of a debate whose draft was worse than the one before",
  LostHandoff: "hand-offs to a child run that gave no usable report",
  BossDeath: "takeovers of runs whose child runs were out",
  WorkerSilence: "child runs that gave no report by their deadline",
  RootBottleneck: "times that a root found too many unread reports",
  Sweeps: "sweeps that finished",
} as const;

/** Conditions that need an operator, by the name under which they are recorded. */
export const ALARMS = {
  Unreadable: "attempts to load a run that cannot be read or verified, and is left alone",
  HistoryUnreadable: "histories that cannot be sealed, since an earlier snapshot is lost",
  AgentAbsent: "beats that found no deployed agent with the name in their run",
  ModelUnavailable: "runs that have waited for minutes, since their model's provider does not answer",
  Expiring: "runs that nobody has answered for weeks, and that end soon or go on waiting",
  TitleInvalid: "starts of a run whose agent's title function failed, so that the run is shown by its input",
  ToolGone: "runs that are blocked, since the tool of an open call is gone",
  UpgradeAwaited: "pinned runs that met a version of their agent that no operator accepted for them",
  FiringUncertain: "firings that are so old that cairn can no longer tell whether they started their run",
  StoreUnavailable: "times that a store did not answer an invocation, so that its run waits or its task is retried",
  SweepFailed: "runs that a sweep could not check",
  ClockDoubted: "sweeps by a clock that differs from AWS's: what has expired by only one of the two clocks waits",
  StoresDiffer: "searches for orphans that deleted nothing, since table and bucket belong to different stores",
  CleanUpFailed: "clean-ups of removed runs that failed and are retried",
  NotRemoved: "clean-ups of a run whose row still exists, which delete nothing",
  SpendCapReached: "model calls that wait for the next day, since the spend cap of the day is reached",
  WebhookUndelivered: "notifications that an endpoint never accepted, and that are given up",
  WebhookFailed: "rounds of notifications that failed for a reason of cairn's own, and are tried again",
  OtherAlarm: "alarms without a metric of their own",
} as const;

/** Values that are measured, not counted. */
const MEASURES = {
  OldestQueuedSeconds: "the longest time that a run has waited for its first beat, at each sweep that met such a run",
  OldestGateSeconds: "the longest time that a run has waited for an approval, at each sweep that met such a run",
  SpentMicroUsd: "money spent on models, in millionths of a dollar, at each commit that records it",
} as const;

/** All metrics by name, each with what it counts or measures. */
export const METRICS = { ...FACTS, ...MEASURES, ...ALARMS };

export type MetricName = keyof typeof METRICS;

/** The calls of a run that wait for events or times leave it in its phase. */
const isWaitForNobody = ({ phase, to }: TelemetryRecord["detail"]): boolean =>
  phase === "ExecutingTools" && to === "waiting";

/** The metrics to which a record adds one. */
export function countsOf({ level, what, detail }: TelemetryRecord): readonly MetricName[] {
  if (level === "alarm") return [Object.hasOwn(ALARMS, what) ? (what as keyof typeof ALARMS) : "OtherAlarm"];
  switch (what) {
    case "RunClaimed":
      return detail["overtook"] === true ? ["Beats", "Takeovers"] : ["Beats"];
    case "StatusChanged":
      // A run that waits for its children, an event or a time waits for no human.
      if (detail["phase"] === "AwaitingChildren" || isWaitForNobody(detail)) return [];
      return changesOf(String(detail["to"]), String(detail["code"]));
    case "CrackSeen":
      return metricsOf("signals", ({ crack }) => crack === detail["crack"]);
    case "Swept":
      return ["Sweeps"];
    default:
      return [];
  }
}

/** The values that a record measures. A value of 0 is left out, since each value keeps its metric billed. */
export function measuresOf({
  level,
  what,
  detail,
}: TelemetryRecord): readonly (readonly [keyof typeof MEASURES, number])[] {
  if (level === "alarm") return [];
  const given = (name: keyof typeof MEASURES, value: unknown, unit = 1) =>
    typeof value === "number" && value > 0 ? ([[name, value / unit]] as const) : [];
  switch (what) {
    case "Swept":
      return [
        ...given("OldestQueuedSeconds", detail["oldestQueuedMs"], 1_000),
        ...given("OldestGateSeconds", detail["oldestGateMs"], 1_000),
      ];
    case "Spent":
      return given("SpentMicroUsd", detail["microUsd"]);
    default:
      return [];
  }
}

/** The metrics of these cracks. */
const metricsOf = (counts: CrackRow["counts"], is: (row: CrackRow) => boolean = () => true): readonly MetricName[] =>
  ALL_CRACKS.flatMap((row) => (row.counts === counts && is(row) ? [row.metric] : []));

/** Failures that are also counted by their code. */
const ENDS: readonly MetricName[] = ["CrashLoop", "Abandoned", "Expired", ...metricsOf("ends")];

function changesOf(status: string, code: string): readonly MetricName[] {
  switch (status) {
    case "waiting":
      return ["RunsWaiting"];
    case "blocked":
      return ["RunsBlocked"];
    case "completed":
      return ["RunsCompleted"];
    case "cancelled":
      return ["RunsCancelled"];
    case "failed":
      return ["RunsFailed", ...ENDS.filter((each) => each === code)];
    default:
      return [];
  }
}
