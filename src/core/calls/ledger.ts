/** The ledger of outside effects: what the effect table says of an open call, and what is recorded of a call. */
import { BOUNDS } from "../limits.ts";
import type { Value } from "../message.ts";
import { ensure } from "../ensure.ts";
import type { OpenCall, State } from "../state.ts";
import { EFFECTS, STRICTEST, type Effect, isStricter } from "./effects.ts";

/** The class that the call was released with; before its intent the strictest one. */
export const effectOf = ({ intent }: OpenCall): Effect => intent?.effect ?? STRICTEST;

/**
 * The call as it may be repeated by code whose tool says `effect` today. Of that and of what its tool said when it was
 * released the stricter counts: the call went out under the one, and would be repeated under the other.
 */
export function asDeclared(call: OpenCall, effect: Effect): OpenCall {
  const { intent } = call;
  return intent !== null && isStricter(effect, intent.effect) ? { ...call, intent: { ...intent, effect } } : call;
}

/** A crash found the call open. Without its tool nobody can repeat it. */
export function afterCrash(call: OpenCall, toolKnown: boolean): "again" | "probe" | "ask" {
  return toolKnown && call.intent !== null ? EFFECTS[call.intent.effect].onCrash : "ask";
}

/** A try ended without an answer: a timeout, or a tool that says it cannot tell. */
export function afterSilence(call: OpenCall): "again" | "probe" | "ask" | "tell" {
  const row = EFFECTS[effectOf(call)];
  return call.tries + 1 < BOUNDS.callTriesMax ? row.onTimeout : row.afterLastTry;
}

/**
 * The arguments of a call: what a person gave it, or else from the reply that proposed it. Those of an undo are those of
 * what it undoes.
 */
export function argsOf(state: State, call: string): Value {
  const { edited = null } = state.open.find((open) => open.call === call) ?? {};
  return edited ?? proposedArgsOf(state, call);
}

/** The same without what a person gave an open call. */
export function proposedArgsOf(state: State, call: string): Value {
  const of = state.open.find((open) => open.call === call)?.undoes ?? call;
  for (const { parts } of state.messages.toReversed()) {
    for (const part of parts) {
      if (part.kind === "result" && part.call === of && part.edited !== null) return part.edited;
      if (part.kind === "call" && part.call === of) return part.args;
    }
  }
  ensure(false, `no reply proposed call ${of}`);
}

/** What a call came to, where it succeeded; null where nobody knows whether it happened. */
export function resultOf({ messages }: State, call: string): Value | null {
  const results = messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "result"));
  const found = results.find((part) => part.call === call);
  return found?.outcome === "succeeded" ? found.value : null;
}

/** Only the epoch that released it may start it. A call without an intent is not released. */
export const startsOnce = ({ intent }: OpenCall): boolean => intent !== null && EFFECTS[intent.effect].startsOnce;
