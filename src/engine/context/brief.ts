/** What a commit or a creation copies from the state into the row, for lists (`protocol/row-brief.ts`). */
import { type Limits, limitedIn } from "../../core/policy/budget.ts";
import { limitsInAll } from "../../core/policy/extension.ts";
import type { State } from "../../core/state.ts";
import type { RowBrief } from "../../protocol/row-brief.ts";

/**
 * `budget`: that of the agent; null if this invocation has not loaded it, so the limits stay as they are. `before`: what
 * the row has; absent for a new run.
 */
export function briefOf(
  state: State,
  { budget, before }: { readonly budget: Limits | null; readonly before?: RowBrief | undefined },
): RowBrief {
  return {
    limits: budget === null ? (before?.limits ?? {}) : limitedIn(limitsInAll(state, budget)),
    cracks: Object.keys(state.cracks ?? {}),
    isScheduled: before?.isScheduled ?? false,
  };
}
