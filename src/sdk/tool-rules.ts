/**
 * What a tool may say about its calls beyond how often they may be repeated: which key they go out under, which error
 * tells that they happened, which one is worth another try, what becomes of one whose outcome stays unknown, what its
 * results claim, and whether it runs beside others.
 */
import { BOUNDS } from "../core/limits.ts";
import type { Effect, OnUnknown } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import type { Undo } from "./saga.ts";

/** Failed calls that are tried again, with the same key, before the model hears of them. Not for unsafe tools. */
export interface Retry {
  /** Tries in all, the first one and those without an answer included: 1 to 3. */
  readonly attempts: number;
  /** Whether another try may help; without it, after every error. It is never a promise. */
  readonly when?: (error: unknown) => boolean;
  /** Milliseconds before the second try, and twice as many before the third; 0 unless told, 10,000 at most. */
  readonly backoffMs?: number;
}

export interface ToolRules<Input> {
  /**
   * A business key, such as `trip_42_charge_v1`, instead of the one that derives from the intent: 1 to 128 printable
   * ASCII characters without spaces. It names what is to be done, so within a run it belongs to one tool and one set of
   * arguments. `attempt` is raised by a restart from scratch.
   */
  readonly key: ((input: Input, of: { readonly attempt: number }) => string) | null;
  /**
   * Reads an error of the other side: what the call came to, where it says that something exists already under our key;
   * null for every other error, and never a promise. For keyed and probed tools.
   */
  readonly onExists: ((error: unknown) => unknown) | null;
  /**
   * Once nobody can still act and what left has landed, and nobody has answered: `ask` goes on waiting for a person,
   * `tell` lets the model know, `fail` ends the run as `OutcomeUnknown`, `compensate` undoes whatever the run did, this
   * call as well, and begins again where its agent has restarts left. Null: `ask`, for keyed and repeatable tools
   * `tell`, at once after the last try.
   */
  readonly onUnknown: OnUnknown | null;
  /** Whether it may run beside other calls of its reply. If not, it runs alone and in its place. */
  readonly parallel: boolean;
  /** Null: the model is told of every failure at once. */
  readonly retry: Retry | null;
  /**
   * Facts that a result claims, such as `{ "flight 42 is free": true }`. Where two calls claim other values for one name,
   * and do so again, their tools contradict each other: the model is told, then the run is stopped.
   */
  readonly claims: ((result: Json) => Readonly<Record<string, Json>>) | null;
  /** Compensation: called in reverse order when a run fails, or is cancelled and that is asked for. */
  readonly undo: Undo<Input> | null;
  /**
   * What is recorded of its arguments and of its result, and no promise of it. It is run with what is recorded of its
   * arguments. Where this throws, all of the value is withheld. Secrets and credentials are taken out without it.
   */
  readonly redact: ((value: Json, of: "arguments" | "result") => Json) | null;
}

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

/** Why the rules do not fit the effect, or null. */
export function wrongWithRules(
  effect: Effect,
  { key, onExists, onUnknown, parallel, undo, retry }: Partial<ToolRules<never>>,
): string | null {
  if (key && effect === "none") return "a tool without an outside effect has no business key";
  if (onExists && effect !== "keyed" && effect !== "probed") {
    return "onExists is for keyed and probed tools: nothing exists under a key that the other side does not know";
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
  if (effect === "unsafe") return "an unsafe tool is never tried again by itself, so it has no retry";
  const isCount = Number.isSafeInteger(attempts) && attempts >= 1 && attempts <= BOUNDS.callTriesMax;
  if (!isCount) return `retry.attempts is ${attempts}: write 1 to ${BOUNDS.callTriesMax} tries in all`;
  const isPause = Number.isSafeInteger(backoffMs) && backoffMs >= 0 && backoffMs <= BACKOFF_MS_MAX;
  return isPause ? null : `retry.backoffMs is ${backoffMs}: write 0 to ${BACKOFF_MS_MAX} milliseconds`;
}
