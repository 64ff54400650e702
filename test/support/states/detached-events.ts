/** Events and states of runs whose asynchronous model works on a job, for tests. */
import type { Event, EventOf } from "../../../src/core/event.ts";
import type { DetachedCall } from "../../../src/core/detached-call.ts";
import type { State } from "../../../src/core/state.ts";

const AT = 1_700_000_000_000;
const KEY = "cairn-1";

const BEGUN = {
  ...{ key: KEY, model: "slow:m", epoch: 1, reserved: { tokensIn: 9, tokensOut: 500, microUsd: 0 } },
  request: { instructions: "0123", tools: [], messages: "4567" },
};

const detachedBegun = (change: Partial<DetachedCall> = {}): EventOf<"DetachedCallBegun"> => ({
  ...{ kind: "DetachedCallBegun", at: AT },
  ...BEGUN,
  ...change,
});

const detachedSubmitted: EventOf<"DetachedCallSubmitted"> = {
  ...{ kind: "DetachedCallSubmitted", at: AT, key: KEY, reference: "batch_1" },
};

const detachedEnded: Event = { kind: "DetachedCallEnded", at: AT, key: KEY, how: "failed", why: "it expired" };

/** The same state while a job is out. */
export const withDetached = (state: State, change: Partial<DetachedCall> = {}): State => ({
  ...state,
  modelOut: { by: "modelJob", detached: { at: AT, ...BEGUN, ...change }, held: [{ text: "Hurry.", by: "ada" }] },
});

export const DETACHED_EVENTS = { detachedBegun, detachedSubmitted, detachedEnded };
