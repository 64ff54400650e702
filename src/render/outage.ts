/** Renders a run that waits for the provider of its model: for the end of an outage, or for a job. */
import type { Shown, Summary } from "../operations/views.ts";
import { count, relative, timeOfDay } from "./words.ts";

/** `waiting: its model is unavailable since 12:03:00, tried 9 times, next try at 12:20:00`, or the run's label. */
export function labelWords({ label, outage, detachedCall }: Shown, now: number): string {
  // An older server does not say it.
  if (detachedCall != null) {
    const { since, nextLookAt } = detachedCall;
    const next = nextLookAt > now ? `next look at ${timeOfDay(nextLookAt, now)}` : "the next look is due";
    return `${label} since ${timeOfDay(since, now)}, ${next}`;
  }
  if (outage === null) return label;
  const { since, tries, nextTryAt } = outage;
  const next = nextTryAt > now ? `next try at ${timeOfDay(nextTryAt, now)}` : "the next try is due";
  return `${label} since ${timeOfDay(since, now)}, tried ${count(tries, "time")}, ${next}`;
}

/** The note beside the status in a list, or null. A row knows only when its model is called again, not why it waits. */
export function noteWords({ phase, wakeAt }: Summary, now: number): string | null {
  if (phase !== "RetryingLLM" || wakeAt === null || wakeAt <= now) return null;
  return `waits for its model, next call ${relative(wakeAt, now)}`;
}
