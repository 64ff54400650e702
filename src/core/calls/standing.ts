/**
 * Which effects of the current attempt stand: the engine tells the model of them before a run begins again or ends, and
 * the operator sees them before a request to undo. What the state does not know of a call, the caller does: from the tools
 * of the agent, or from the ledger where the agent is not at hand.
 */
import { type Effect, EFFECTS } from "./effects.ts";
import { ofAttempt } from "../policy/window.ts";
import type { State } from "../state.ts";

export interface CallFacts {
  /** Null where it is not known: the call is taken for one that has an effect. */
  readonly effect: Effect | null;
  /** Its effect was compensated. */
  readonly isUndone: boolean;
}

/** Each as `tool (call)`, in the order in which the model proposed them. */
export interface Effects {
  /** Still to be undone if the run compensates. */
  readonly undoable: readonly string[];
  /** Happened, or may have, and nothing undoes them. */
  readonly standing: readonly string[];
}

interface NamedCall {
  readonly call: string;
  readonly tool: string;
}

export function effectsIn(state: State, factsOf: (of: NamedCall) => CallFacts): Effects {
  const parts = ofAttempt(state).flatMap((message) => message.parts);
  const proposed = parts.filter((part) => part.kind === "call");
  const canBeUndone = new Set([
    ...(state.undo ?? []).map(({ call }) => call),
    ...state.open.flatMap(({ call, intent, status }) => (intent?.undo === true && status !== "proposed" ? [call] : [])),
  ]);
  const happened = new Set([
    ...parts.flatMap((part) => (part.kind === "result" && part.outcome !== "failed" ? [part.call] : [])),
    ...state.open.flatMap(({ call, status }) => (status === "started" || status === "unknown" ? [call] : [])),
  ]);
  const stands = (of: NamedCall): boolean => {
    const { effect, isUndone } = factsOf(of);
    return (
      happened.has(of.call) &&
      !canBeUndone.has(of.call) &&
      (effect === null || EFFECTS[effect].actsOutside) &&
      !isUndone
    );
  };
  return {
    undoable: proposed.filter(({ call }) => canBeUndone.has(call)).map(inWords),
    standing: proposed.filter(stands).map(inWords),
  };
}

const inWords = ({ call, tool }: NamedCall): string => `${tool} (${call})`;
