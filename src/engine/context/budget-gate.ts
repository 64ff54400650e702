/**
 * Checks whether the budget has room for the next cost. If it has none, the run ends or asks a human for more at a
 * gate. That gate works like any other: it is frozen, decided once, and denied when it expires.
 */
import { BUDGET, extensionOf, limitsInAll } from "../../core/policy/extension.ts";
import type { Agent } from "../../ports/agent.ts";
import { digestOf } from "../../codec/canonical.ts";
import { exhaustedMeter, withGrants, exhaustedMeters, reservedBy } from "../../core/policy/spending.ts";
import { type Grant, type BudgetLimits, withoutReserved } from "../../core/policy/budget.ts";
import type { HumanDecision } from "../../core/approval.ts";
import type { EventOf } from "../../core/event.ts";
import { gateId } from "../../protocol/ids.ts";
import { SIZES } from "../../codec/limits.ts";
import { decideRecovery } from "../../core/policy/recovery.ts";
import type { BudgetGate, State } from "../../core/state.ts";
import type { ActiveRun } from "./active-run.ts";
import { debitTime } from "./debits.ts";
import { gateTerms } from "./gate-terms.ts";

/**
 * Whether the budget has room for another model call or, with `calls`, for releasing that many tool calls. If it
 * returns false, the consequence is recorded: the question or the end.
 */
export function hasBudget(run: ActiveRun, agent: Agent, calls = 0): boolean {
  debitTime(run);
  const limits = limitsOf(run.state, agent);
  const over = exhaustedMeter(run.state.spent, limits, calls);
  if (over === null) return true;
  // What a child may spend is its parent's money, and only the parent can ask for more.
  if (agent.budget.onExhausted === "ask" && run.state.grant === undefined)
    run.record(question(run, { over, limits, calls, terms: gateTerms(run, agent, null) }));
  else {
    const [meter] = exhaustedMeters(run.state.spent, limits, calls);
    run.record(endOverBudget(run, over, meter === "beats" ? BEATS : undefined));
  }
  return false;
}

/** Whether any time at work is left, if the agent limits it. Another attempt of a call spends nothing else. */
export function hasTime(run: ActiveRun, agent: Agent): boolean {
  debitTime(run);
  return !exhaustedMeters(run.state.spent, limitsOf(run.state, agent), 0).includes("wallMs");
}

/** What the run may spend itself: what it may spend in all, without what is reserved for its children. */
export function limitsOf(state: State, { budget }: Pick<Agent, "budget">): BudgetLimits {
  return withoutReserved(limitsInAll(state, budget), reservedBy(state));
}

/** The lower one of the two is the limit. */
const BEATS = "beats in the agent's budget and maxBeats of its topology";

/**
 * The decision to end the run, since no human gave more budget. It belongs in the commit of the denial (schedule 63).
 */
export function endOverBudget(run: ActiveRun, over: string, cause = "the agent's budget"): EventOf<"RecoveryDecided"> {
  const failure = { code: "BudgetExhausted", message: `${over}; raise ${cause} and start another run` };
  return decideRecovery(run.state, { kind: "budget", failure }, run.now);
}

/**
 * The question for more budget. Each question has a number and so its own gate: a decision about one question does not
 * apply to the next (schedule 64).
 */
export function question(
  run: ActiveRun,
  {
    over: reason,
    limits,
    calls,
    terms,
  }: {
    readonly over: string;
    readonly limits: BudgetLimits;
    readonly calls: number;
    readonly terms: ReturnType<typeof gateTerms>;
  },
): EventOf<"ApprovalRequested"> {
  const { restart, spent } = run.state;
  const asked = extensionOf(run.state).questions + 1;
  const [planHash, argsHash] = [digestOf(limits), digestOf({ asked, calls, spent: { ...spent } })];
  const gate = gateId(run.world.hash, { attempt: restart, call: BUDGET, planHash, argsHash });
  const frozen = { gate, call: BUDGET, planHash, argsHash, reason, ...terms };
  return { kind: "ApprovalRequested", at: run.now, ...frozen, budget: { limits, calls } };
}

/**
 * Why the decision is refused, or null if it is valid. An amount that is too small is refused, because the run would
 * ask again at once. Changed arguments are refused, because a budget has none.
 */
export function refusalOf(
  { spent }: State,
  { asks, as, more }: { readonly asks: BudgetGate | null; readonly as: HumanDecision["as"]; readonly more: Grant },
): string | null {
  const amounts = Object.values(more);
  if (asks === null || as === "deny")
    return amounts.length === 0 ? null : "this decision grants no budget: it is a denial, or it is about a call";
  if (as === "edit") return "a budget has no arguments; say how much more the run may spend";
  if (!amounts.every((amount) => Number.isSafeInteger(amount) && amount > 0 && amount <= SIZES.grantMax)) {
    return `the amount is a whole number from 1 to ${SIZES.grantMax}`;
  }
  const over = exhaustedMeter(spent, withGrants(asks.limits, { granted: more }), asks.calls);
  return over === null ? null : `that is not enough: ${over}`;
}
