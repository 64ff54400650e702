/** Sorts the runs of a list into the groups that an operator asks for, and says in words what each run does. */
import { PHASES } from "../../core/phases.ts";
import type { Summary } from "../../operations/views.ts";
import { UNDRIVEN, undrivenSince } from "../../render/outage.ts";
import { duration, momentWords } from "../../render/words.ts";

export const GROUPS = ["needs", "running", "waiting", "failed", "completed", "cancelled"] as const;
export type Group = (typeof GROUPS)[number];

export const GROUP_WORDS: { readonly [G in Group]: string } = {
  needs: "Needs me",
  running: "Running",
  waiting: "Waiting",
  failed: "Failed",
  completed: "Completed",
  cancelled: "Cancelled",
};

/** The phases in which a run goes on only after a human has done something. */
const NEEDS_HUMAN: ReadonlySet<Summary["phase"]> = new Set(["AwaitingApproval", "AwaitingReconcile", "AwaitingAgent"]);

/** An older server says nothing of restores. */
type Grouped = Pick<Summary, "status" | "phase"> & Partial<Pick<Summary, "restored">>;

export function groupOf({ status, phase, restored }: Grouped): Group {
  if (status === "completed" || status === "failed" || status === "cancelled") return status;
  if (status === "blocked" || NEEDS_HUMAN.has(phase) || restored != null) return "needs";
  return status === "running" ? "running" : "waiting";
}

/** How many runs each group has. */
export function groupCounts(runs: Iterable<Grouped>): { readonly [G in Group]: number } {
  const counts = { needs: 0, running: 0, waiting: 0, failed: 0, completed: 0, cancelled: 0 };
  for (const run of runs) counts[groupOf(run)] += 1;
  return counts;
}

/** What the run does or waits for, as far as its row tells. */
export function phaseWords(run: Summary, now: number): string {
  const { status, phase, storeOutage, wakeAt, inProgress, needsNewer, restored } = run;
  if (needsNewer === true) return "needs a newer version of cairn";
  if (!inProgress) return `after ${duration(run.lastCheckpointAt - run.createdAt)}`;
  const wakes = wakeAt !== null && wakeAt > now ? `, continues ${momentWords(wakeAt, now)}` : "";
  if (storeOutage !== null) return `store unavailable (${storeOutage.store})${wakes}`;
  if (restored != null && status === "paused") return "restored and paused until an operator resumes it";
  if (status === "queued") return `waiting for its first beat${run.resumable ? ", resumable" : ""}`;
  if (phase === "ExecutingTools" && !run.ready && status === "waiting") return `waiting for an event or a time${wakes}`;
  if (run.askingSince != null) {
    const slow = run.slowFrom != null && now >= run.slowFrom ? ", longer than usual" : "";
    return `asking the model, for ${duration(Math.max(0, now - run.askingSince))}${slow}`;
  }
  const undriven = undrivenSince(run, now);
  if (undriven !== null) return `${undriven}${UNDRIVEN}`;
  const { label } = PHASES[phase];
  return groupOf(run) === "needs" || status === "paused" ? label : `${label}${wakes}`;
}
