/**
 * Jobs of asynchronous models as changes of the state, and when the run looks at one. Used by `transition.ts`, which maps
 * each event to its change.
 */
import { ensure } from "../ensure.ts";
import { withFiles } from "../file.ts";
import type { EventOf } from "../event.ts";
import { BOUNDS } from "../limits.ts";
import type { HeldText, DetachedCall } from "../detached-call.ts";
import type { State } from "../state.ts";
import { appendUserMessage } from "../calls/open-calls.ts";

/** What the run needs of its model now. */
export type ModelCommand =
  | { readonly kind: "askModel" }
  /** Look at the model job that is out. */
  | { readonly kind: "pollModel" }
  /** The job is not wanted any more: cancel it at its provider. */
  | { readonly kind: "dropDetachedCall" }
  | { readonly kind: "wait"; readonly until: number };

/** A model call, or what the job of an asynchronous model needs now. `hasSeenDetached`: this invocation has looked at it. */
export function modelOwed(
  { detachedCall: call }: State,
  { now, hasSeenDetached = false }: { readonly now: number; readonly hasSeenDetached?: boolean },
): ModelCommand {
  if (call !== undefined && hasSeenDetached) return { kind: "wait", until: nextModelLook(call, now) };
  // Without a reference its request has to be sent, or its job to be found.
  return { kind: call?.reference === undefined ? "askModel" : "pollModel" };
}

export function beginDetached(state: State, { kind: _, ...begun }: EventOf<"DetachedCallBegun">): State {
  ensure(state.detachedCall === undefined, "a run has one model job at a time");
  return { ...state, phase: "AwaitingLLM", retryAt: null, detachedCall: { ...begun, held: [] } };
}

export function noteDetached(state: State, { key, reference }: EventOf<"DetachedCallSubmitted">): State {
  return { ...state, phase: "AwaitingLLM", retryAt: null, detachedCall: { ...detachedNamed(state, key), reference } };
}

export function endDetached(state: State, { key, at }: EventOf<"DetachedCallEnded">): State {
  detachedNamed(state, key);
  return withoutDetached(state, at);
}

function detachedNamed({ detachedCall }: State, key: string): DetachedCall {
  ensure(detachedCall?.key === key, `model job ${key} is not the one that is out`);
  return detachedCall;
}

/** A user's text. While a job is out it is kept: its place in the transcript is after the reply (schedule 196). */
export function takeText(state: State, { text, by, files }: HeldText, at: number): State {
  const words = { text, by, ...withFiles(files) };
  const { detachedCall: call } = state;
  if (call === undefined) return appendUserMessage(state, { ...words, at });
  return { ...state, detachedCall: { ...call, held: [...call.held, words] } };
}

/** The state after the end of its job, if it has one, with the texts that the job held back. */
export function withoutDetached(state: State, at: number): State {
  const { detachedCall, ...rest } = state;
  return (detachedCall?.held ?? []).reduce<State>((next, words) => appendUserMessage(next, { ...words, at }), rest);
}

/**
 * When the run looks at the job again. The pauses grow with its age: a quick job is noticed quickly, and a batch of a day
 * costs some dozens of looks.
 */
function nextModelLook({ at }: DetachedCall, now: number): number {
  const pause = (now - at) * BOUNDS.modelLookShare;
  return now + Math.ceil(Math.min(BOUNDS.modelLookMsMax, Math.max(BOUNDS.modelLookMsMin, pause)));
}
