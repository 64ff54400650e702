/** What the effect table says about an open call, and what the transcript records of a call. */
import { BOUNDS } from "../limits.ts";
import type { Value } from "../message.ts";
import { ensure } from "../ensure.ts";
import type { OpenCall, State } from "../state.ts";
import { EFFECTS, STRICTEST, type Effect, isStricter } from "./effects.ts";

/** The effect class that the call was released with; the strictest class before its intent. */
export const effectOf = ({ intent }: OpenCall): Effect => intent?.effect ?? STRICTEST;

/**
 * The call as the deployed code may repeat it, where its tool now declares `effect`. The stricter class of now and of
 * the release counts: the call was sent under the one class and would be repeated under the other.
 */
export function asDeclared(call: OpenCall, effect: Effect): OpenCall {
  const { intent } = call;
  return intent !== null && isStricter(effect, intent.effect) ? { ...call, intent: { ...intent, effect } } : call;
}

/** What follows when a crash left the call open. Without its tool no invocation can repeat it. */
export function recoveryAfterCrash(call: OpenCall, toolKnown: boolean): "again" | "probe" | "ask" {
  return toolKnown && call.intent !== null ? EFFECTS[call.intent.effect].onCrash : "ask";
}

/** What follows when an attempt ended with an unknown outcome: a timeout, or a tool that cannot tell. */
export function recoveryAfterTimeout(call: OpenCall): "again" | "probe" | "ask" | "tell" {
  const row = EFFECTS[effectOf(call)];
  return call.attempts + 1 < BOUNDS.callTriesMax ? row.onTimeout : row.afterLastTry;
}

/**
 * The arguments of a call: those that a human set, or else those of the reply that proposed it. An undo has the
 * arguments of the call that it undoes. Throws `InvariantViolated` if no reply proposed the call.
 */
export function argsOf(state: State, call: string): Value {
  const { edited = null } = state.open.find((open) => open.call === call) ?? {};
  return edited ?? proposedArgsOf(state, call);
}

/** Like `argsOf`, but without arguments that a human set while the call is open. */
export function proposedArgsOf(state: State, call: string): Value {
  const of = state.open.find((open) => open.call === call)?.undoes ?? call;
  for (let index = state.messages.length - 1; index >= 0; index -= 1) {
    for (const part of state.messages[index]?.parts ?? []) {
      if (part.kind === "result" && part.call === of && part.edited !== null) return part.edited;
      if (part.kind === "call" && part.call === of) return part.args;
    }
  }
  ensure(false, `no reply proposed call ${of}`);
}

/** The result of a call that succeeded; null for every other outcome. */
export function resultOf({ messages }: State, call: string): Value | null {
  const results = messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "result"));
  const found = results.find((part) => part.call === call);
  return found?.outcome === "succeeded" ? found.value : null;
}

/** Only the epoch that released the call may start it. A call without an intent is not released. */
export const startsOnce = ({ intent }: OpenCall): boolean => intent !== null && EFFECTS[intent.effect].startsOnce;

/** Whether a cancel aborts the signal of the call. An undo goes on: what it takes back is half done meanwhile. */
export const stopsOnCancel = (call: OpenCall): boolean =>
  call.undoes === undefined && EFFECTS[effectOf(call)].stopsOnCancel;
