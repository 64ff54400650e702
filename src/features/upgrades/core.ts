/**
 * How a run relates to the versions of its agent, as changes of the state. A run that waits for code keeps the phase
 * that it returns to, as a paused run does. Used by `transition.ts`, which maps each event to its change.
 */
import { upgradesOf } from "../../core/policy/holds.ts";
import type { MessageBody } from "../../core/event.ts";
import { type State } from "../../core/state.ts";

/** Keeps an operator's acceptance. An answer to an earlier question changes nothing. */
export function acceptUpgradeIn(state: State, body: Extract<MessageBody, { readonly kind: "upgrade" }>): State {
  const upgrades = upgradesOf(state);
  const isAsked = upgrades.lack?.kind === "upgrade" && upgrades.questions === body.question;
  return isAsked ? { ...state, upgrades: { ...upgrades, accepted: { to: body.to, by: body.by } } } : state;
}
