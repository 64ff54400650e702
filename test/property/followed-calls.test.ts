/**
 * A reader that follows the events of a run knows which of its calls are open, what they wait for, and how they were
 * settled, as `transition.ts` does: over random valid runs.
 */
import { fold } from "../../src/features/compose.ts";
import { heldWait } from "../../src/core/calls/held-calls.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type FollowedCalls,
  type FollowedSettlement,
  followCalls,
  followedCalls,
  waitsForHuman,
} from "../../src/core/calls/followed-calls.ts";
import type { Event } from "../../src/core/event.ts";
import type { OpenCall, State } from "../../src/core/state.ts";
import { AT, callPart, EVENT } from "../support/states/states-and-events.ts";
import { walks } from "../support/walks/random-walks.ts";

const superseded = EVENT.child("ChildSuperseded");

const shown = ({ call, tool, status, undoes, ...open }: OpenCall) => ({
  call,
  tool: undoes === undefined ? tool : "",
  status: status === "permitted" ? "proposed" : status,
  ...(heldWait({ call, tool, status, ...open })?.for !== undefined && {
    waitsFor: heldWait({ call, tool, status, ...open })?.for,
  }),
  ...(undoes !== undefined && { undoes }),
});

const followed = ({ open }: FollowedCalls) =>
  [...open.values()].map(({ call, tool, status, waitsFor, undoes }) => ({
    ...{ call, tool, status },
    ...(status === "started" && waitsFor && { waitsFor }),
    ...(undoes !== undefined && { undoes }),
  }));

/** The results that the event added to the transcript. */
const resultsAfter = (before: State, after: State) =>
  after.messages
    .slice(before.messages.length)
    .flatMap(({ parts }) => parts.flatMap((part) => (part.kind === "result" ? [part] : [])))
    .map(({ call, outcome }) => ({ call, outcome }));

test("a reader of events settles each call with the event that settles it in the state", () => {
  const settledBy: Record<string, number> = {};
  fc.assert(
    fc.property(walks, ({ commits, states: [start] }) => {
      const calls = followedCalls();
      let before = start as State;
      for (const event of commits.flatMap(({ events }) => events)) {
        const after = fold(before, event);
        const settled: readonly FollowedSettlement[] = followCalls(calls, event);
        const own = settled.filter(({ undoes }) => undoes === undefined);
        const outcomes = own.map(({ call, outcome }) => ({ call, outcome }));
        expect(outcomes, JSON.stringify(event)).toEqual(resultsAfter(before, after));
        expect(followed(calls), JSON.stringify(event)).toEqual(after.open.map(shown));
        const name = event.kind === "RecoveryDecided" ? event.action.kind : event.kind;
        if (settled.length > 0) settledBy[name] = (settledBy[name] ?? 0) + settled.length;
        before = after;
      }
    }),
    { numRuns: 600 },
  );
  for (const each of ["ToolResultRecorded", "HumanApprovalReceived", "ToolOutcomeUnknown", "compensate"]) {
    expect(settledBy[each], each).toBeGreaterThan(0);
  }
});

/** A run whose call c1 dispatches a child with `change`, and then these events. */
function afterDispatch(change: object, ...events: readonly Event[]) {
  const calls = followedCalls();
  const begun = [
    EVENT.started,
    EVENT.replied([callPart("ask")]),
    EVENT.intended("c1"),
    { ...EVENT.dispatched("c1"), ...change },
  ];
  const settled = [...begun, ...events].flatMap((event) => followCalls(calls, event as Event));
  return { calls, settled: settled.map(({ call, outcome }) => `${call} ${outcome}`) };
}

test.each<[string, object, readonly Event[], readonly string[]]>([
  ["a child that is left alone exists", { left: true }, [EVENT.child("ChildStarted")], ["c1 succeeded"]],
  ["a child exists that is waited for", {}, [EVENT.child("ChildStarted")], []],
  ["a child was never made", {}, [EVENT.child("ChildNeverMade")], ["c1 failed"]],
  ["a child that was too late was never made", {}, [superseded, EVENT.child("ChildNeverMade")], []],
  ["a child reports to a run that goes on", {}, [EVENT.reported("c1")], []],
  ["a child has reported when the end is decided", {}, [EVENT.reported("c1"), EVENT.abortDecided], ["c1 succeeded"]],
  ["a child reports after the end is decided", {}, [EVENT.abortDecided, EVENT.reported("c1", "failed")], ["c1 failed"]],
])("says what settles a call when %s", (_, change, events, settled) => {
  expect(afterDispatch(change, ...events).settled).toEqual(settled);
});

test("a run waits for a human when its calls wait for the budget, or behind a call that a human decides about", () => {
  const calls = followedCalls();
  const gate = (call: string): Event => ({
    ...{ kind: "ApprovalRequested", at: AT, gate: `g-${call}`, call, planHash: "h", argsHash: "h", reason: "r" },
    expiresAt: AT + 60_000,
  });
  const decided = (call: string): Event => ({
    ...{ kind: "HumanApprovalReceived", at: AT, gate: `g-${call}`, call },
    decision: { as: "approve", args: null, by: "ada", note: null },
  });
  const waits: boolean[] = [];
  const events = [
    ...[EVENT.started, EVENT.replied([callPart("pay"), callPart("book")]), EVENT.intended("c1")],
    ...[
      { ...EVENT.intended("c2"), alone: true } as Event,
      gate("c1"),
      decided("c1"),
      gate("budget"),
      decided("budget"),
    ],
  ];
  for (const event of events) {
    followCalls(calls, event);
    waits.push(waitsForHuman(calls));
  }
  expect(waits).toEqual([false, false, false, false, true, false, true, false]);
});
