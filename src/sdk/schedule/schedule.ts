/**
 * The schedule options of an agent. The expressions are those of EventBridge Scheduler, so that one definition means
 * the same in both worlds. Without EventBridge, `firing-times.ts` computes the times.
 */

import type { RunLabels } from "../../core/ids.ts";

/** When cairn starts runs of an agent, and with which input (`docs/triggers.md`). */
export interface ScheduleOptions<Input = unknown> {
  /** `rate(5 minutes)`, `cron(0 8 ? * MON-FRI *)` or `at(2027-01-31T08:00:00)`. */
  readonly every: string;
  /** The IANA name of the time zone of `cron` and `at`; default UTC. */
  readonly timezone?: string;
  /** The task of each run; default `{}`. */
  readonly input?: Input;
  /** `allow`: start a run even if the schedule's previous run has not ended. `skip` (default): start none. */
  readonly overlap?: "skip" | "allow";
  /** Firings missed while no process ran: `latest` (default) makes up for the latest one, `skip` for none. */
  readonly missed?: "latest" | "skip";
  /** Labels of each run that it starts, by which lists find it. */
  readonly labels?: RunLabels;
}

/**
 * Parses the time that EventBridge Scheduler substitutes for `<aws.scheduler.scheduled-time>`, to epoch milliseconds.
 *
 * @throws Error if the text is not a time in UTC
 */
export function scheduledTime(text: unknown): number {
  const at = typeof text === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at))
    throw new Error(`scheduledTime is ${JSON.stringify(text)}, not a time such as 2027-01-31T08:00:00Z`);
  return at;
}
