/** The budget that operators extended, as the rules read it. What opens and closes its gate is a feature. */
import { gateIn } from "../calls/held-calls.ts";
import type { Gate } from "../approval.ts";
import type { Extension, State } from "../state.ts";
import { type BudgetLimits, atMost } from "./budget.ts";
import { withGrants } from "./spending.ts";

/** The name of the budget's gate. It cannot collide with a call, since those are named `c1`, `c2`, ... */
export const BUDGET = "budget";

const NOTHING_GRANTED: Extension = { questions: 0, granted: {}, gate: null };

export const extensionOf = ({ extension }: Pick<State, "extension">): Extension => extension ?? NOTHING_GRANTED;

/**
 * What the run may spend in all, its children included: the agent's budget, at most the grant of its parent, with what
 * operators granted.
 */
export const limitsInAll = (state: Pick<State, "grant" | "extension">, budget: BudgetLimits): BudgetLimits =>
  withGrants(atMost(budget, state.grant), extensionOf(state));

/** The open gates of the state: those of calls, and that of the budget. */
export const openGatesIn = (state: State): readonly Gate[] =>
  [...state.open.map(gateIn), extensionOf(state).gate].filter((gate) => gate !== null);
