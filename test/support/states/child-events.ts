/** Events and states of runs with children, for tests. */
import type { Event, EventOf } from "../../../src/core/event.ts";
import { newCall } from "../../../src/core/calls/open-calls.ts";
import { inline } from "../../../src/core/message.ts";
import { NOTHING_SPENT, type Spent } from "../../../src/core/policy/budget.ts";
import type { OpenCall, State } from "../../../src/core/state.ts";

const AT = 1_700_000_000_000;
const SHA = "0".repeat(64);

const childOf = (call: string): string => `local-child-${call}`;

const dispatched = (call: string, number = 1): EventOf<"ChildDispatched"> => ({
  ...{ kind: "ChildDispatched", at: AT, child: number === 1 ? childOf(call) : `${childOf(call)}-${number}`, call },
  ...{ try: number, agent: "worker", grant: { beats: 2, tokens: 90 }, deadline: AT + 900, epoch: 1 },
});

const childEvent = (
  kind: "ChildStarted" | "ChildSuperseded" | "ChildResumed" | "ChildAskedToStop" | "ChildNeverMade",
  call = "c1",
): Event => ({ kind, at: AT, child: childOf(call), call, why: "it gave no answer" }) as Event;

/** The decision that the child of that call goes on in another process. */
const continued = (call: string, dispatch = 2): EventOf<"ChildContinued"> => ({
  ...{ kind: "ChildContinued", at: AT, child: childOf(call), call, dispatch, deadline: AT + 1_800, messages: 3 },
  ...{ settlesAt: AT + 1_200, why: "it gave no answer" },
});

/** The report of the child of that call. */
const reported = (
  call: string,
  status: "completed" | "failed" = "completed",
  spent: Spent = { ...NOTHING_SPENT, beats: 2, tokensIn: 40 },
): Event => ({
  ...{ kind: "MessageAbsorbed", at: AT, stage: "taken", message: `child#${childOf(call)}` },
  body: { kind: "child", child: childOf(call), status, value: inline("a memo"), spent },
});

/** The same state with a child that was too late and has not reported, and with a call c9 that waits for another. */
export function withChildren(state: State): State {
  const entry = { call: "c9", try: 1, agent: "worker", grant: { beats: 2 }, deadline: AT + 900, superseded: false };
  const waiting: OpenCall = {
    ...newCall("c9", "ask"),
    status: "started",
    intent: { effect: "keyed", key: "ask-c9", argsDigest: SHA },
    releasedBy: 1,
    heldBy: { by: "child", try: 1 },
  };
  const hasCalls = state.open.length > 0;
  return {
    ...state,
    open: hasCalls ? [...state.open, waiting] : [],
    children: [...state.children, { id: childOf("c1"), ...entry, superseded: !hasCalls }],
  };
}

export const CHILD_EVENTS = { dispatched, child: childEvent, continued, reported };
