/** What a commit or a creation copies from the state into the row, for lists (`protocol/row-brief.ts`). */
import { waitIn } from "../../core/calls/held-calls.ts";
import { openGatesIn, limitsInAll } from "../../core/policy/extension.ts";
import { type BudgetLimits, limitedIn } from "../../core/policy/budget.ts";
import type { State } from "../../core/state.ts";
import type { RowBrief } from "../../protocol/row-brief.ts";

/**
 * `budget`: that of the agent; null if this invocation has not loaded it, so the limits stay as they are. `before`: what
 * the row has; absent for a new run.
 */
export function briefOf(
  state: State,
  { budget, before }: { readonly budget: BudgetLimits | null; readonly before?: RowBrief | undefined },
): RowBrief {
  // What was made at the start stays.
  const { asks: _, ...kept } = before ?? {};
  return {
    ...kept,
    limits: budget === null ? (before?.limits ?? {}) : limitedIn(limitsInAll(state, budget)),
    cracks: Object.keys(state.cracks ?? {}),
    isScheduled: before?.isScheduled ?? false,
    ...(asksHuman(state) && { asks: true }),
  };
}

/** Also where the decision or answer has come and is not applied yet: a view looks at each run that this names. */
const asksHuman = (state: State): boolean =>
  openGatesIn(state).length > 0 ||
  state.open.some((call) => call.status === "unknown" || waitIn(call)?.for === "answer");
