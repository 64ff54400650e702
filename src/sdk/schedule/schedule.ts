/**
 * When an agent is to be started by itself, as its author writes it. The expressions are those of EventBridge Scheduler,
 * so that one definition means the same in both worlds; `firing-times.ts` computes them where nothing else does.
 */

export interface ScheduleOptions<Input = unknown> {
  /** `rate(5 minutes)`, `cron(0 8 ? * MON-FRI *)` or `at(2027-01-31T08:00:00)`. */
  readonly every: string;
  /** The IANA name of the zone whose clocks `cron` and `at` mean; UTC unless told. */
  readonly timezone?: string;
  /** The task of each run; `{}` unless told. */
  readonly input?: Input;
  /** Whether a firing starts a run while the last one that this schedule started has not ended: `skip` unless told. */
  readonly overlap?: "skip" | "allow";
  /** What becomes of firings that nobody could fire in time: the latest one is made up for, unless told. */
  readonly missed?: "latest" | "skip";
}

/**
 * The time that EventBridge Scheduler puts in the place of `<aws.scheduler.scheduled-time>`, as epoch milliseconds.
 *
 * @throws Error where it is no time in UTC
 */
export function scheduledTime(text: unknown): number {
  const at = typeof text === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at))
    throw new Error(`scheduledTime is ${JSON.stringify(text)}, and no time such as 2027-01-31T08:00:00Z`);
  return at;
}
