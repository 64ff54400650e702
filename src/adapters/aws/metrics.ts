/**
 * The metrics of a deployment: which there are, and which records of telemetry count in which. The one table for whoever
 * writes them and whoever watches them, so that no alarm waits for a metric that nobody writes.
 *
 * Each name in it costs money every month in which it counts anything, so there is one dimension, the deployment, and what
 * is not bounded (runs, agents, words of failures) is in the log alone.
 */
import type { TelemetryRecord } from "../../ports/world.ts";

export const NAMESPACE = "cairn";

/** Powertools gives every metric this dimension; its value is the deployment, which may share its account with others. */
export const DIMENSION = "service";

/** What goes on, and what each counts. */
const FACTS = {
  Beats: "claims of runs: each is an invocation that began to work on one",
  Takeovers: "claims of runs that another invocation never released",
  RunsWaiting: "runs that began to wait for a person's approval",
  RunsBlocked: "runs that began to wait for a person, since nobody knows what became of a call",
  RunsCompleted: "runs that are done",
  RunsFailed: "runs that failed, for whatever reason",
  RunsCancelled: "runs that were cancelled",
  CrashLoop: "runs that failed since too many of their processes died, found by a beat",
  Abandoned: "runs that failed since too many of their processes died, found by the sweeper",
  Expired: "runs that failed since nobody came for as long as a run may wait",
  Runaway: "runs that were stopped since they did the same again and again",
  Oscillation: "runs that were stopped since two of their calls took turns",
  NotDone: "runs that failed since their definition of done did not hold when their models were done",
  Sweeps: "sweeps that came to their end",
} as const;

/** What an operator has to look at, by the name under which it is recorded. */
export const ALARMS = {
  Unreadable: "looks at a run that cannot be read or verified, and is left alone",
  HistoryUnreadable: "histories that cannot be sealed, since a snapshot before the newest one is lost",
  AgentAbsent: "beats that found no agent of the name that their run has",
  ModelUnavailable: "runs that have waited for minutes, since their model's provider gives no answers",
  ToolGone: "runs blocked because the tool of an open call is gone",
  UpgradeAwaited: "pinned runs that met a version of their agent that nobody accepted for them",
  FiringUncertain: "firings of which it cannot be known any more whether they started their run",
  StoreUnavailable: "times that a store did not answer an invocation, so that its run waits or its task is tried again",
  SweepFailed: "runs that a sweep could not judge",
  ClockDoubted: "sweeps by a clock that differs from AWS's: what has expired by only one of them waits",
  StoresDiffer: "looks for orphans that deleted nothing, since table and bucket belong to different stores",
  CleanUpFailed: "clean-ups of removed runs that failed, and are tried again",
  NotRemoved: "clean-ups of a run whose row is still there, which delete nothing",
  OtherAlarm: "alarms that have no metric of their own",
} as const;

/** What is measured, and not counted. */
const MEASURES = {
  OldestQueuedSeconds:
    "how long the run has waited for its first beat that has waited longest, at each sweep that met one",
  OldestGateSeconds: "how long the run has waited for an approval that has waited longest, at each sweep that met one",
  SpentMicroUsd: "what models were paid, in millionths of a dollar, at each commit that says so",
} as const;

export const METRICS = { ...FACTS, ...MEASURES, ...ALARMS };

export type MetricName = keyof typeof METRICS;

/** What a record adds one to. */
export function countsOf({ level, what, detail }: TelemetryRecord): readonly MetricName[] {
  if (level === "alarm") return [Object.hasOwn(ALARMS, what) ? (what as keyof typeof ALARMS) : "OtherAlarm"];
  switch (what) {
    case "RunClaimed":
      return detail["overtook"] === true ? ["Beats", "Takeovers"] : ["Beats"];
    case "StatusChanged":
      return changesOf(String(detail["to"]), String(detail["code"]));
    case "Swept":
      return ["Sweeps"];
    default:
      return [];
  }
}

/** What a record measures; nothing where there is nothing to measure, since each value keeps its metric billed. */
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

/** Failures that are counted by their code as well. */
const ENDS = ["CrashLoop", "Abandoned", "Expired", "Runaway", "Oscillation", "NotDone"] as const satisfies MetricName[];

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
