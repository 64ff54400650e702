/**
 * A run that waits for code or for an operator, and calls nothing. It keeps the phase that it returns to, as a paused
 * run does.
 */
import type { EventOf, ToMend } from "../event.ts";
import { FOLLOWS, type Lack, type State, type Upgrades } from "../state.ts";
import { withoutCuts } from "./cuts-in-a-row.ts";

export const upgradesOf = ({ upgrades }: State): Upgrades => upgrades ?? FOLLOWS;

export const isLacking = (state: State): boolean => upgradesOf(state).lack !== null;

/** The run waits for code and calls nothing. Each wait is a new question, counted by `questions`. */
export function holdForAgent(state: State, lack: Lack): State {
  const upgrades = upgradesOf(state);
  const pausedFrom = state.pausedFrom ?? state.phase;
  return {
    ...state,
    phase: "AwaitingAgent",
    pausedFrom,
    upgrades: { ...upgrades, questions: upgrades.questions + 1, lack },
  };
}

/** The run waits until an operator has mended what fails. A provider that refuses or cuts answers, so no outage is left. */
export function holdForOperator(state: State, { mends, failure }: ToMend): State {
  const held = holdForAgent(state, { kind: "operator", mends, failure });
  if (mends === "code") return held;
  const { outage: _, leavesOut: _whole, replyTokensMax: _own, ...rest } = held;
  const back = rest.pausedFrom === "RetryingLLM" ? "AwaitingLLM" : rest.pausedFrom;
  return { ...rest, pausedFrom: back, modelRetries: 0, retryAt: null };
}

/**
 * The run adopts the version and its price. An acceptance counts once. Calls that the older version intended are marked:
 * the schemas of their tools may be others now. What an older version changed of the language is over: this one may have
 * mended it.
 */
export function applyAgentChange(state: State, { to, price }: Pick<EventOf<"AgentChanged">, "to" | "price">): State {
  const { changedIntrinsics: _, ...kept } = state;
  const changed = {
    ...kept,
    agentVersion: to,
    ...(price === undefined ? {} : { price }),
    open: state.open.map((each) => (each.intent === null ? each : { ...each, agentChanged: true as const })),
    ...(state.undo && { undo: state.undo.map((each) => ({ ...each, agentChanged: true as const })) }),
  };
  const upgrades = upgradesOf(state);
  const spent = upgrades.accepted?.to === to ? { ...changed, upgrades: { ...upgrades, accepted: null } } : changed;
  return state.phase === "AwaitingAgent" ? resumeAfterHold(spent) : spent;
}

/** The run returns to the phase that it was in. */
export const resumeAfterHold = (state: State): State => ({
  ...withoutCuts(state),
  ...withoutLack(state),
  phase: state.pausedFrom ?? "AwaitingLLM",
  pausedFrom: null,
});

export const withoutLack = ({ upgrades }: State): Pick<State, "upgrades"> =>
  upgrades === undefined ? {} : { upgrades: { ...upgrades, lack: null } };
