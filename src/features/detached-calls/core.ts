/** Jobs of asynchronous models as changes of the state, and when the run looks at one. */
import type { EventRows } from "../../core/features.ts";
import type { DetachedCallEvents, DetachedCall } from "../../core/detached-call.ts";
import type { ModelCommand } from "../../core/commands.ts";
import { ensure } from "../../core/ensure.ts";
import type { EventOf } from "../../core/event.ts";
import { BOUNDS } from "../../core/limits.ts";
import type { ModelOut } from "../../core/model-out.ts";
import type { State } from "../../core/state.ts";
import { isModelOut, withoutModelOut } from "../../core/policy/model-out.ts";

/** The model job that is out; undefined if none is. */
export const detachedOut = ({ modelOut }: Pick<State, "modelOut">): DetachedCall | undefined => modelOut?.detached;

/** A model call, or what the job of an asynchronous model needs now. `hasSeenDetached`: this invocation has looked at it. */
export function modelOwed(
  state: State,
  { now, hasSeenDetached = false }: { readonly now: number; readonly hasSeenDetached?: boolean },
): ModelCommand {
  const call = detachedOut(state);
  if (call !== undefined && hasSeenDetached) return { kind: "wait", until: nextModelLook(call, now) };
  // Without a reference its request has to be sent, or its job to be found.
  return { kind: call?.reference === undefined ? "askModel" : "pollModel" };
}

function beginDetached(state: State, { kind: _, ...begun }: EventOf<"DetachedCallBegun">): State {
  ensure(!isModelOut(state), "a run has one model job at a time");
  return { ...state, phase: "AwaitingLLM", retryAt: null, modelOut: { by: "modelJob", detached: begun, held: [] } };
}

function noteDetached(state: State, { key, reference }: EventOf<"DetachedCallSubmitted">): State {
  const out = outUnder(state, key);
  const modelOut = { ...out, detached: { ...out.detached, reference } };
  return { ...state, phase: "AwaitingLLM", retryAt: null, modelOut };
}

function endDetached(state: State, { key, at }: EventOf<"DetachedCallEnded">): State {
  outUnder(state, key);
  return withoutModelOut(state, at);
}

function outUnder({ modelOut }: State, key: string): ModelOut {
  ensure(modelOut?.detached.key === key, `model job ${key} is not the one that is out`);
  return modelOut;
}

/**
 * When the run looks at the job again. The pauses grow with its age: a quick job is noticed quickly, and a batch of a day
 * costs some dozens of looks.
 */
function nextModelLook({ at }: DetachedCall, now: number): number {
  const pause = (now - at) * BOUNDS.modelLookShare;
  return now + Math.ceil(Math.min(BOUNDS.modelLookMsMax, Math.max(BOUNDS.modelLookMsMin, pause)));
}

/** The events of this feature: in which phases each may happen, and what it changes. */
export const DETACHED_CALL_EVENTS: EventRows<keyof DetachedCallEvents> = {
  DetachedCallBegun: { in: ["AwaitingLLM", "RetryingLLM"], apply: beginDetached },
  DetachedCallSubmitted: { in: ["AwaitingLLM", "RetryingLLM"], apply: noteDetached },
  DetachedCallEnded: { in: "live", apply: endDetached },
};
