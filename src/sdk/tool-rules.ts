/**
 * The options of a tool. Its rules for calls come on top of its effect class: business key, which error proves that a
 * call happened, retries, what to do about an unknown outcome, what its results claim, and whether calls run in parallel.
 */
import type * as z from "zod";
import { BOUNDS } from "../core/limits.ts";
import { EFFECTS, EFFECT_NAMES, type Effect } from "../core/calls/effects.ts";
import type { OnUnknown } from "../core/event.ts";
import type { Retry, Tool, ToolContext, ToolRules } from "../ports/agent.ts";
import type { ApprovalOptions } from "./approvals.ts";
import { SYNCHRONOUS, shown } from "./option-forms.ts";

/** The options of `tool`. Each is described at `Tool` and `ToolRules` (`src/ports/agent.ts`). */
export type ToolOptions<Schema extends z.ZodType, Output extends z.ZodType> = Pick<Tool<Schema>, "input" | "effect"> &
  Partial<
    Pick<Tool<Schema>, "description" | "probe" | "before" | "approval" | "timeoutMs" | "settleMs" | "externalId">
  > &
  Partial<ToolRules<z.output<Schema>>> & {
    /** How long its approvals wait for a human. Default: as its agent says. */
    readonly approvals?: ApprovalOptions;
    /** The zod schema of the result. cairn records the parsed value. Default: any JSON. */
    readonly output?: Output | null;
    /** Does the work. Its result is recorded as JSON. It throws if the effect did not happen. */
    readonly run: (context: ToolContext<z.output<Schema>>) => z.input<Output> | Promise<z.input<Output>>;
  };

export const TOOL_OPTIONS: { readonly [Option in keyof ToolOptions<z.ZodType, z.ZodType>]-?: true } = {
  description: true,
  input: true,
  output: true,
  effect: true,
  run: true,
  probe: true,
  before: true,
  approval: true,
  timeoutMs: true,
  settleMs: true,
  externalId: true,
  key: true,
  onExists: true,
  onUnknown: true,
  parallel: true,
  retry: true,
  claims: true,
  undo: true,
  redact: true,
  approvals: true,
  loops: true,
  onRollBack: true,
};

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
  ...(options.loops === undefined ? {} : { loops: options.loops }),
  ...(options.onRollBack === undefined ? {} : { onRollBack: options.onRollBack }),
});

/** Why the effect, or that of the undo, is none that the engine knows; null where it knows both. */
export function wrongWithEffect(effect: Effect, { undo }: Partial<Pick<ToolRules<never>, "undo">>): string | null {
  const names = EFFECT_NAMES.join(", ");
  if (!EFFECT_NAMES.includes(effect)) return `effect is ${String(effect)}: write ${names}`;
  if (undo && !EFFECT_NAMES.includes(undo.effect)) return `undo.effect is ${String(undo.effect)}: write ${names}`;
  return null;
}

/** Why the rules contradict the effect class, or null. */
export function wrongWithRules(
  effect: Effect,
  { key, onExists, onUnknown, parallel, undo, retry, loops, onRollBack }: Partial<ToolRules<never>>,
): string | null {
  const { actsOutside, isKnownByKey, mayRepeat } = EFFECTS[effect];
  if (key && !actsOutside) return "a tool without an outside effect has no business key";
  if (onExists && !isKnownByKey) {
    return "onExists is for keyed and probed tools: the external service of other tools does not know the key";
  }
  if (onUnknown && !POLICIES.includes(onUnknown)) return `onUnknown is ${onUnknown}: write ${POLICIES.join(", ")}`;
  if (undo && !actsOutside) return "a tool without an outside effect has nothing to undo";
  if (undo && EFFECTS[undo.effect].hasProbe !== (undo.probe !== undefined)) {
    return "a probed undo has a probe, and no other undo has one";
  }
  if (onUnknown === "compensate" && !undo) return "onUnknown is compensate, and the tool has no undo";
  if (parallel !== undefined && typeof parallel !== "boolean") return "parallel is true or false";
  if (loops !== undefined && loops !== "ignore") return `loops is ${String(loops)}: write "ignore"`;
  if (onRollBack !== undefined && onRollBack !== "keep") return `onRollBack is ${String(onRollBack)}: write "keep"`;
  if (!retry) return null;
  if (!mayRepeat) return "an unsafe tool is never retried automatically, so it has no retry";
  return wrongWithRetry(retry);
}

const BACKOFF_MS_MAX = 10_000;

function wrongWithRetry(retry: Retry): string | null {
  const { attempts, when, backoffMs = 0 } = retry;
  const unknown = Object.keys(retry).find((each) => !["attempts", "when", "backoffMs"].includes(each));
  if (unknown !== undefined) return `retry has no ${JSON.stringify(unknown)}: write attempts, when or backoffMs`;
  if (when !== undefined && !SYNCHRONOUS.holds(when)) return `retry.when is ${shown(when)}: write ${SYNCHRONOUS.says}`;
  const isCount = Number.isSafeInteger(attempts) && attempts >= 1 && attempts <= BOUNDS.callTriesMax;
  if (!isCount) return `retry.attempts is ${attempts}: write 1 to ${BOUNDS.callTriesMax} attempts in total`;
  const isPause = Number.isSafeInteger(backoffMs) && backoffMs >= 0 && backoffMs <= BACKOFF_MS_MAX;
  return isPause ? null : `retry.backoffMs is ${backoffMs}: write 0 to ${BACKOFF_MS_MAX} milliseconds`;
}
