/**
 * Model calls that no debit accounts for yet. One rule: a model call leaves only under a mark of its own epoch, and a commit
 * lowers the row's `asks` only by what that same commit debits or knows never left. A claim is a mark where the run may call
 * its model (`Row.will`); elsewhere a commit adds one before the call leaves.
 */
import { canonical } from "../../codec/canonical.ts";
import type { Spent } from "../../core/policy/budget.ts";
import { type Price, microUsdOf } from "../../core/policy/price.ts";
import type { State } from "../../core/state.ts";
import { shown } from "../../core/policy/window.ts";
import type { Row } from "../../protocol/row.ts";

export interface UnaccountedCalls {
  /** Calls and unused marks of invocations before this one: each may have been paid for. */
  readonly others: number;
  /** Of this invocation: a mark under which a call may leave, or a call that left and is in no debit. */
  readonly own: "none" | "marked" | "left";
}

/** As a claim leaves them, or a hand-over: then none is this invocation's own. */
export function unaccountedIn({ asks, will, owner }: Row): UnaccountedCalls {
  const own = owner === null ? 0 : will;
  return { others: asks - own, own: own === 0 ? "none" : "marked" };
}

/** What a lost reply is taken to have cost beyond its prompt. */
const LOST_REPLY_TOKENS = 500;
const CHARACTERS_PER_TOKEN = 4;

/** What so many calls with this transcript are taken to cost. */
export function estimatedCost(state: State, price: Price, calls = 1): Partial<Spent> {
  const characters = shown(state).reduce((sum, message) => sum + canonical(message.parts).length, 0);
  const [tokensIn, tokensOut] = [Math.ceil(characters / CHARACTERS_PER_TOKEN), LOST_REPLY_TOKENS];
  const microUsd = microUsdOf(price, tokensIn, tokensOut) * calls;
  return { tokensIn: tokensIn * calls, tokensOut: tokensOut * calls, microUsd };
}
