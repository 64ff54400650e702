/**
 * What a tool may say about its calls beyond how often they may be repeated: which key they go out under, which error
 * tells that they happened, what becomes of one whose outcome stays unknown, and whether it runs beside others.
 */
import type { Effect, OnUnknown } from "../core/event.ts";
import type { Undo } from "./undo.ts";
import type { Json } from "../core/json.ts";

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
  undo: options.undo ?? null,
  redact: options.redact ?? null,
});

/** Why the rules do not fit the effect, or null. */
export function wrongWithRules(
  effect: Effect,
  { key, onExists, onUnknown, parallel, undo }: Partial<ToolRules<never>>,
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
  return parallel === undefined || typeof parallel === "boolean" ? null : "parallel is true or false";
}
