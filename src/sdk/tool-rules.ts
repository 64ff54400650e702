/**
 * The rules of a tool for its calls, in addition to its effect class: business key, which error proves that a call
 * happened, retries, what to do about an unknown outcome, what its results claim, and whether calls run in parallel.
 */
import { BOUNDS } from "../core/limits.ts";
import type { Effect, OnUnknown } from "../core/event.ts";
import type { Retry, ToolRules } from "../ports/agent.ts";

const POLICIES: readonly OnUnknown[] = ["ask", "tell", "fail", "compensate"];

export const rulesOf = <Input>(options: Partial<ToolRules<Input>>): ToolRules<Input> => ({
  key: options.key ?? null,
  onExists: options.onExists ?? null,
  onUnknown: options.onUnknown ?? null,
  parallel: options.parallel ?? true,
  retry: options.retry ?? null,
  claims: options.claims ?? null,
  undo: options.undo ?? null,
  redact: options.redact ?? null,
});

/** Why the rules contradict the effect class, or null. */
export function wrongWithRules(
  effect: Effect,
  { key, onExists, onUnknown, parallel, undo, retry }: Partial<ToolRules<never>>,
): string | null {
  if (key && effect === "none") return "a tool without an outside effect has no business key";
  if (onExists && effect !== "keyed" && effect !== "probed") {
    return "onExists is for keyed and probed tools: the external service of other tools does not know the key";
  }
  if (onUnknown && !POLICIES.includes(onUnknown)) return `onUnknown is ${onUnknown}: write ${POLICIES.join(", ")}`;
  if (undo && effect === "none") return "a tool without an outside effect has nothing to undo";
  if (undo && (undo.effect === "probed") !== (undo.probe !== undefined)) {
    return "a probed undo has a probe, and no other undo has one";
  }
  if (onUnknown === "compensate" && !undo) return "onUnknown is compensate, and the tool has no undo";
  if (parallel !== undefined && typeof parallel !== "boolean") return "parallel is true or false";
  return retry ? wrongWithRetry(effect, retry) : null;
}

const BACKOFF_MS_MAX = 10_000;

function wrongWithRetry(effect: Effect, { attempts, backoffMs = 0 }: Retry): string | null {
  if (effect === "unsafe") return "an unsafe tool is never retried automatically, so it has no retry";
  const isCount = Number.isSafeInteger(attempts) && attempts >= 1 && attempts <= BOUNDS.callTriesMax;
  if (!isCount) return `retry.attempts is ${attempts}: write 1 to ${BOUNDS.callTriesMax} attempts in total`;
  const isPause = Number.isSafeInteger(backoffMs) && backoffMs >= 0 && backoffMs <= BACKOFF_MS_MAX;
  return isPause ? null : `retry.backoffMs is ${backoffMs}: write 0 to ${BACKOFF_MS_MAX} milliseconds`;
}
