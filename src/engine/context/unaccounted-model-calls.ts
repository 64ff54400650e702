/**
 * Model calls that no debit contains yet. Each may have been paid for, so the row counts them (`unaccountedModelCalls`)
 * until a debit contains them.
 *
 * The count stays right by one rule: a model call leaves only under a *mark* of its own epoch. A mark is an increment of
 * that count that is durable before the call leaves. A claim makes a mark if the run may call its model
 * (`Row.marksAtClaim`); in other cases a commit makes it. A commit lowers the count only by the calls that it debits or
 * that are known not to have left.
 */
import { canonical } from "../../codec/canonical.ts";
import type { Spent } from "../../core/policy/budget.ts";
import { isModelOut } from "../../core/policy/model-out.ts";
import { type Price, microUsdOf } from "../../core/policy/price.ts";
import type { State } from "../../core/state.ts";
import { visibleMessages } from "../../core/policy/window.ts";
import type { Row } from "../../protocol/row.ts";

/** Unaccounted calls, by the invocation that made them. */
export interface UnaccountedCalls {
  /** Calls and unused marks of earlier invocations. Each of them may have been paid for. */
  readonly others: number;
  /** The call of this invocation. `marked`: a call may leave. `left`: a call has left, and no debit contains it. */
  readonly own: "none" | "marked" | "left";
}

/**
 * The unaccounted calls after a claim or a hand-over. After a hand-over none belongs to this invocation. While a
 * request to the model is out, a mark that is left belongs to no call: the state counts the request.
 */
export function unaccountedIn(
  { unaccountedModelCalls, marksAtClaim, owner }: Row,
  state: Pick<State, "modelOut">,
): UnaccountedCalls {
  const own = owner === null ? 0 : marksAtClaim;
  const unaccounted = { others: unaccountedModelCalls - own, own: own === 0 ? "none" : "marked" } as const;
  return isModelOut(state) ? { ...unaccounted, others: 0 } : unaccounted;
}

/**
 * Whether tokens that no provider reported are estimated: only where they cost money, or a budget of tokens could be passed. A
 * model of one's own that reports none would else seem to use what no provider counted.
 */
export const needsEstimate = (price: Price, tokensMax: number | null | undefined): boolean =>
  (tokensMax ?? null) !== null || Object.values(price).some((usd) => usd > 0);

/** Assumed reply length of a lost model call, in tokens. */
const LOST_REPLY_TOKENS = 500;
const CHARACTERS_PER_TOKEN = 4;

/**
 * The estimated cost of this many calls with the current transcript. `atLeast`: the length of a request that may have
 * been made in their place, in characters.
 */
export function estimatedCost(state: State, price: Price, calls = 1, atLeast = 0): Partial<Spent> {
  const shown = visibleMessages(state).reduce((sum, message) => sum + canonical(message.parts).length, 0);
  const characters = Math.max(shown, atLeast);
  const [tokensIn, tokensOut] = [Math.ceil(characters / CHARACTERS_PER_TOKEN), LOST_REPLY_TOKENS];
  const microUsd = microUsdOf(price, { tokensIn, tokensOut }) * calls;
  return { tokensIn: tokensIn * calls, tokensOut: tokensOut * calls, microUsd };
}
