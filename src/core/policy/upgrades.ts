/**
 * How a run and the versions of its agent stand, as changes of its state. A run that waits for code keeps the phase that
 * it goes back to, as a paused one does; used by `transition.ts`, which says which event makes which change.
 */
import type { EventOf, MessageBody } from "../event.ts";
import { FOLLOWS, type Lack, type State, type Upgrades } from "../state.ts";

export const upgradesOf = ({ upgrades }: State): Upgrades => upgrades ?? FOLLOWS;

export const isLacking = (state: State): boolean => upgradesOf(state).lack !== null;

/** Nothing is called from here on. Each time is a question of its own. */
export function heldBy(state: State, lack: Lack): State {
  const upgrades = upgradesOf(state);
  const pausedFrom = state.pausedFrom ?? state.phase;
  return { ...state, phase: "AwaitingAgent", pausedFrom, upgrades: { ...upgrades, asked: upgrades.asked + 1, lack } };
}

/** An answer to another question than the one that is open changes nothing. */
export function accepted(state: State, body: Extract<MessageBody, { readonly kind: "upgrade" }>): State {
  const upgrades = upgradesOf(state);
  const isAsked = upgrades.lack?.kind === "upgrade" && upgrades.asked === body.asked;
  return isAsked ? { ...state, upgrades: { ...upgrades, accepted: { to: body.to, by: body.by } } } : state;
}

/** The run goes on under that version, and is charged as it says. Being let go on with it counts once. */
export function changedTo(state: State, { to, price }: Pick<EventOf<"AgentChanged">, "to" | "price">): State {
  const changed = { ...state, agentVersion: to, ...(price === undefined ? {} : { price }) };
  const upgrades = upgradesOf(state);
  const spent = upgrades.accepted?.to === to ? { ...changed, upgrades: { ...upgrades, accepted: null } } : changed;
  return state.phase === "AwaitingAgent" ? goneBack(spent) : spent;
}

/** It goes on where it was. */
export const goneBack = (state: State): State => ({
  ...state,
  ...lackingNothing(state),
  phase: state.pausedFrom ?? "AwaitingLLM",
  pausedFrom: null,
});

export const lackingNothing = ({ upgrades }: State): Pick<State, "upgrades"> =>
  upgrades === undefined ? {} : { upgrades: { ...upgrades, lack: null } };
