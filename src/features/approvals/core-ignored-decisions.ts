/**
 * Decisions that had no effect. A decision, the expiry or the end of its attempt closes a gate, and a later decision
 * changes nothing. Its author was told that it was delivered. So the run records that it was ignored, and why
 * (schedule 84).
 */
import { wantsRestart } from "../../core/policy/ending.ts";
import { BUDGET, openGatesIn } from "../../core/policy/extension.ts";
import type { HumanDecision } from "../../core/approval.ts";
import type { State } from "../../core/state.ts";

/** Decisions that the run absorbed and has not applied. */
export const unappliedDecisions = (
  state: State,
): readonly { readonly gate: string; readonly decision: HumanDecision }[] =>
  openGatesIn(state).flatMap(({ gate, decision }) => (decision === null ? [] : [{ gate, decision }]));

/** The call of a gate. The ID of a gate begins with the ID of its call. */
export const callOf = (gate: string): string => gate.slice(0, gate.lastIndexOf("-"));

/** Why the run applies no more decisions, whatever the gate: it is to end or to restart. Null: decisions count. */
export function endBeforeDecision(state: State, { cancel }: { readonly cancel: boolean }): string | null {
  const { ending, saga } = state;
  if (cancel || ending?.kind === "cancelled") return "the run is being cancelled, so nothing more is started";
  if (wantsRestart(state)) return "the run is to begin again from its task, under new gates";
  if (saga !== undefined) return "what the run did is being undone, and none of its open calls is started";
  return ending === null ? null : `the run gives up what it was doing: ${ending.failure.code}`;
}

/** Why a decision about a gate that is not open has no effect. */
export function whyGateClosed(state: State, gate: string): string {
  const call = callOf(gate);
  if (call === BUDGET) return "the question about its budget was closed before the run read the decision";
  const { messages, restartedFrom = 0 } = state;
  const proposedAt = messages.findIndex(({ parts }) =>
    parts.some((part) => part.kind === "call" && part.call === call),
  );
  if (proposedAt >= 0 && proposedAt < restartedFrom)
    return "the attempt that its gate belonged to has ended, and the run began again";
  return "its gate was closed before the run read the decision";
}
