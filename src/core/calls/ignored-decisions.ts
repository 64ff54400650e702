/**
 * Decisions that had no effect. A gate is closed by a decision, by its expiry, and by whatever ends its attempt; a decision
 * that comes after that changes nothing. Its author was told that it was delivered, so the run records that it was ignored,
 * and why (schedule 84).
 */
import type { Decision } from "../event.ts";
import { BUDGET, extensionOf } from "../policy/extension.ts";
import { wantsRestart } from "./saga.ts";
import type { Gate, State } from "../state.ts";

/** Each gate of the state: a call's, or that of the budget. */
export const gatesIn = (state: State): readonly Gate[] =>
  [...state.open, extensionOf(state)].flatMap(({ gate }) => (gate === null ? [] : [gate]));

/** Decisions that were taken in and not applied. */
export const unapplied = (state: State): readonly { readonly gate: string; readonly decision: Decision }[] =>
  gatesIn(state).flatMap(({ gate, decision }) => (decision === null ? [] : [{ gate, decision }]));

/** Gates begin with the name of their call. */
export const callOf = (gate: string): string => gate.slice(0, gate.lastIndexOf("-"));

/**
 * Why no decision is applied any more, whatever its gate: the run is to end or to begin again. Null: decisions count.
 */
export function endsBefore(state: State, of: { readonly cancel: boolean }): string | null {
  const { ending, saga } = state;
  if (of.cancel || ending?.kind === "cancelled") return "the run is being cancelled, so nothing more is started";
  if (wantsRestart(state)) return "the run is to begin again from its task, under new gates";
  if (saga !== undefined) return "what the run did is being undone, and none of its open calls is started";
  return ending === null ? null : `the run gives up what it was doing: ${ending.failure.code}`;
}

/** Why a decision about a gate that is not open has no effect. */
export function closedFor(state: State, gate: string): string {
  const call = callOf(gate);
  if (call === BUDGET) return "the question about its budget was closed before the decision was taken in";
  const { messages, attemptFrom = 0 } = state;
  const proposedAt = messages.findIndex(({ parts }) =>
    parts.some((part) => part.kind === "call" && part.call === call),
  );
  if (proposedAt >= 0 && proposedAt < attemptFrom)
    return "the attempt that its gate belonged to has ended, and the run began again";
  return "its gate was closed before the decision was taken in";
}
