/**
 * Model calls that no debit accounts for yet. One rule: a model call leaves only under a mark of its own epoch, and a commit
 * lowers the row's `asks` only by what that same commit debits or knows never left. A claim is a mark where the run may call
 * its model (`Row.will`); elsewhere a commit adds one before the call leaves.
 */
import { canonical } from "../../codec/canonical.ts";
import type { Spent } from "../../core/policy/budget.ts";
import { ensure } from "../../core/ensure.ts";
import { NO_PRICE, type Price, microUsdOf } from "../../core/policy/price.ts";
import type { State } from "../../core/state.ts";
import { shown } from "../../core/policy/window.ts";
import type { Row } from "../../protocol/row.ts";
import type { ActiveRun } from "./active-run.ts";

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

/**
 * Debits the calls of invocations before this one at their estimate: before the next call is judged affordable, so that
 * recovery itself is bounded, and in every commit, an end included. Says how many.
 */
export function debitOthers(run: ActiveRun): number {
  const { others } = run.modelCalls;
  if (others === 0) return 0;
  run.modelCalls = { ...run.modelCalls, others: 0 };
  recordLost(run, { calls: others, why: "its process ended before the reply was kept" });
  return others;
}

/** The call of this invocation leaves. */
export function callLeaves(run: ActiveRun): void {
  ensure(run.modelCalls.own === "marked", "a model call leaves under a mark");
  run.modelCalls = { ...run.modelCalls, own: "left" };
}

/** The call of this invocation is accounted for by what is recorded, or cost nothing. */
export function callSettled(run: ActiveRun): void {
  if (run.modelCalls.own === "left") run.modelCalls = { ...run.modelCalls, own: "none" };
}

/** The call of this invocation has left, and its reply is lost. */
export function ownCallLost(run: ActiveRun, why: string): void {
  recordLost(run, { calls: 1, why });
  callSettled(run);
}

/** Calls whose replies nobody has, with no word of what they cost. */
export function recordLostCalls(run: ActiveRun, lost: { readonly calls: number; readonly why: string }): void {
  const isClosing = (run.state.pausedFrom ?? run.state.phase) === "ForceStop";
  run.record({ kind: "ModelCallLost", at: run.now, ...lost, ...(isClosing && { closing: true as const }) });
}

function recordLost(run: ActiveRun, lost: { readonly calls: number; readonly why: string }): void {
  const at = run.now;
  recordLostCalls(run, lost);
  // Without its agent a run is charged as its state says.
  const price = run.price ?? run.state.price ?? NO_PRICE;
  const debit = estimatedCost(run.state, price, lost.calls);
  run.record({ kind: "BudgetDebited", at, debit, for: "lost model calls, estimated" });
}
