/** Renders a run that waits for the provider of its model: for the end of an outage, or for a job. */
import type { Shown, Summary } from "../operations/views.ts";
import { count, momentWords, timeOfDay } from "./words.ts";

/** `waiting: its model is unavailable since 12:03:00, tried 9 times, next try at 12:20:00`, or the run's label. */
export function labelWords({ label, outage, detachedCall, askingSince, slowFrom }: Shown, now: number): string {
  // An older server does not say it.
  if (detachedCall != null) {
    const { since, nextLookAt } = detachedCall;
    const next = nextLookAt > now ? `next look at ${timeOfDay(nextLookAt, now)}` : "the next look is due";
    return `${label} since ${timeOfDay(since, now)}, ${next}`;
  }
  // An older server does not say it.
  if (outage == null && askingSince != null && label === PLAIN_ASKING)
    return askingWords({ askingSince, slowFrom }, now);
  if (outage == null) return label;
  const { since, tries, nextTryAt } = outage;
  const next = nextTryAt > now ? `next try at ${timeOfDay(nextTryAt, now)}` : "the next try is due";
  return `${label} since ${timeOfDay(since, now)}, tried ${count(tries, "time")}, ${next}`;
}

const PLAIN_ASKING = "asking the model";

/** `asking the model since 12:03:00`, and where that is so, that it takes longer than usual. */
export const askingWords = (
  { askingSince, slowFrom }: { readonly askingSince: number; readonly slowFrom: number | null },
  now: number,
): string => {
  const slow = slowFrom != null && now >= slowFrom ? ", longer than usual" : "";
  return `${PLAIN_ASKING} since ${timeOfDay(askingSince, now)}${slow}`;
};

export const UNDRIVEN = "no process drives it now, resumable";

/**
 * Of a run that could be at work and that no process drives: why it could, to go on with; empty if that is plain. Null for any
 * other run. A paused one waits for an operator.
 */
export function undrivenSince({ resumable, ready, status, wakeAt }: Summary, now: number): string | null {
  // An older server does not say it.
  if (!resumable || !ready) return null;
  if (status === "queued" || status === "running") return "";
  return wakeAt !== null && wakeAt <= now ? "its time has come; " : "something has arrived for it; ";
}

/**
 * The note beside the status in a list, or null: since when it asks its model, that no process drives it, when the model is
 * called again, or when it goes on by itself if nothing comes before. A row does not know what a run waits for.
 */
export function noteWords(run: Summary, now: number): string | null {
  const { status, phase, wakeAt, askingSince, slowFrom } = run;
  if (askingSince != null) return askingWords({ askingSince, slowFrom }, now);
  const undriven = undrivenSince(run, now);
  if (undriven !== null) return `${undriven}${UNDRIVEN}`;
  if (wakeAt === null || wakeAt <= now) return null;
  if (phase === "RetryingLLM") return `waits for its model, next call ${momentWords(wakeAt, now)}`;
  return status === "waiting" ? `until ${timeOfDay(wakeAt, now)} at the latest` : null;
}
