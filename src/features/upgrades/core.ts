/** What an operator's acceptance of a version changes in the state. The wait for it is in `core/policy/holds.ts`. */
import { upgradesOf } from "../../core/policy/holds.ts";
import type { MessageBody } from "../../core/event.ts";
import type { State } from "../../core/state.ts";

/** Keeps an operator's acceptance. An answer to an earlier question changes nothing. */
export function acceptUpgradeIn(state: State, body: Extract<MessageBody, { readonly kind: "upgrade" }>): State {
  const upgrades = upgradesOf(state);
  const isAsked = upgrades.lack?.kind === "upgrade" && upgrades.questions === body.question;
  return isAsked ? { ...state, upgrades: { ...upgrades, accepted: { to: body.to, by: body.by } } } : state;
}
