/**
 * The effects since the last restart that stand. The engine lists them for the model before a run restarts or ends, and
 * an operator sees them before a request to undo. The caller adds what the state does not know of a call: from the
 * tools of the agent, or from the ledger where the agent is not available.
 */
import { type Effect, EFFECTS } from "../../core/calls/effects.ts";
import { messagesOfRestart } from "../../core/policy/window.ts";
import type { State } from "../../core/state.ts";

/** What the caller knows of a call. */
export interface CallFacts {
  /** Null where it is not known: the call then counts as one with an effect. */
  readonly effect: Effect | null;
  /** Its effect was compensated. */
  readonly isUndone: boolean;
}

/** Each call as `tool (call)`, in the order in which the model proposed them. */
export interface Effects {
  /** Effects that a compensation of the run would undo. */
  readonly undoable: readonly string[];
  /** Effects that happened, or may have, and that cannot be undone. */
  readonly standing: readonly string[];
}

interface NamedCall {
  readonly call: string;
  readonly tool: string;
}

/** `factsOf` supplies what the state does not know of a call. */
export function effectsThatStand(state: State, factsOf: (call: NamedCall) => CallFacts): Effects {
  const parts = messagesOfRestart(state).flatMap((message) => message.parts);
  const proposed = parts.filter((part) => part.kind === "call");
  const canBeUndone = new Set([
    ...(state.undo ?? []).map(({ call }) => call),
    ...state.open.flatMap(({ call, intent, status }) => (intent?.undo === true && status !== "proposed" ? [call] : [])),
  ]);
  const happened = new Set([
    ...parts.flatMap((part) =>
      part.kind === "result" && (part.outcome !== "failed" || part.outside !== undefined) ? [part.call] : [],
    ),
    ...state.open.flatMap(({ call, status, unbegun }) =>
      status === "started" || (status === "unknown" && unbegun === undefined) ? [call] : [],
    ),
  ]);
  const stands = (named: NamedCall): boolean => {
    const { effect, isUndone } = factsOf(named);
    return (
      happened.has(named.call) &&
      !canBeUndone.has(named.call) &&
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
