/** What a run did outside, as its state keeps it: by its own calls, and by the child runs of its hand-offs. */
import { describe, expect, test } from "vitest";
import { joinedWork, ownWork, workInWords } from "../../src/core/calls/outside.ts";
import type { Event } from "../../src/core/event.ts";
import type { OutsideWork } from "../../src/core/outside.ts";
import type { State } from "../../src/core/state.ts";
import { answer, callPart, stateAfter, EVENT } from "../support/states/states-and-events.ts";

const failed = (call: string): Event => ({ ...EVENT.resulted(call), outcome: "failed" }) as Event;
const one = (...events: readonly Event[]): State =>
  stateAfter(EVENT.started, EVENT.replied([callPart("pay")]), ...events);
const released = [EVENT.intended("c1"), EVENT.invoked("c1")];

/** The child of c1 ended, after that. */
const ended = (outside: OutsideWork | undefined): Event => {
  const report = EVENT.reported("c1", "failed") as { readonly body: object };
  return { ...report, body: { ...report.body, ...(outside && { outside }) } } as unknown as Event;
};
const of = (outcome: "succeeded" | "unknown"): OutsideWork => ({
  calls: [{ run: "child", call: "c7", tool: "send", key: "k7", outcome }],
});

describe("the list of a run", () => {
  test("has what it released outside, and is absent without that", () => {
    expect(one(EVENT.intended("c1", "none"), EVENT.invoked("c1"), EVENT.resulted("c1")).outside).toBeUndefined();
    expect(one(EVENT.intended("c1")).outside).toBeUndefined();
    expect(one(...released, EVENT.resulted("c1")).outside).toEqual({
      calls: [{ call: "c1", tool: "pay", key: "key-c1", outcome: "succeeded" }],
    });
    // It is there, since a call was released, and names none, since none happened.
    expect(one(...released, failed("c1")).outside).toEqual({ calls: [] });
  });

  test("has an open call as unknown when the run ends", () => {
    const unknown = one(...released, EVENT.outcomeLost("c1"));
    expect(ownWork(unknown)?.calls).toEqual([
      { run: unknown.run, call: "c1", tool: "pay", key: "key-c1", outcome: "unknown" },
    ]);
    expect(ownWork(one(EVENT.intended("c1", "none"), EVENT.invoked("c1")))).toBeUndefined();
  });

  test("has an effect as unknown while its undo may have happened", () => {
    const acted = one(...released, EVENT.resulted("c1"));
    expect(ownWork(acted)?.calls).toMatchObject([{ call: "c1", outcome: "succeeded" }]);
    const undoing = (change: object): State => {
      const undo = { call: "u1", undoes: "c1", status: "unknown", intent: null, reconcilableFrom: 7, ...change };
      return { ...acted, open: [undo] } as unknown as State;
    };
    for (const status of ["unknown", "started"])
      expect(ownWork(undoing({ status }))).toMatchObject({ calls: [{ call: "c1", outcome: "unknown" }], settlesAt: 7 });
    for (const change of [{ unbegun: true }, { status: "intended" }, { undoes: "c2" }])
      expect(ownWork(undoing(change))?.calls).toMatchObject([{ call: "c1", outcome: "succeeded" }]);
  });

  test("has what its children reported, and the result of the hand-off keeps it", () => {
    const done = one(EVENT.intended("c1"), EVENT.dispatched("c1"), ended(of("succeeded")), failed("c1"));
    expect(done.outside).toEqual(of("succeeded"));
    expect(done.messages.at(-1)?.parts).toMatchObject([{ outcome: "failed", outside: of("succeeded") }]);
    expect(one(EVENT.intended("c1"), EVENT.dispatched("c1"), ended(undefined), failed("c1")).outside).toBeUndefined();
  });

  test("loses what did not happen as a human says, and keeps what did", () => {
    const asked = one(EVENT.intended("c1"), EVENT.dispatched("c1"), ended(of("unknown")), EVENT.outcomeLost("c1"));
    expect(asked).toMatchObject({ phase: "AwaitingReconcile", outside: of("unknown") });
    const no = stateAfter(
      EVENT.started,
      EVENT.replied([callPart("pay")]),
      ...[EVENT.intended("c1"), EVENT.dispatched("c1"), ended(of("unknown")), EVENT.outcomeLost("c1")],
      EVENT.reconciled("c1", answer("failed")),
    );
    expect(no.outside?.calls).toEqual([]);
    expect(no.messages.at(-1)?.parts[0]).not.toHaveProperty("outside");
  });

  test("is bounded, and names what is unknown first", () => {
    const many = {
      calls: Array.from({ length: 16 }, (_, index) => ({ ...of("succeeded").calls[0], call: `c${index}` })),
    };
    const all = joinedWork(many as OutsideWork, of("unknown"));
    expect(all?.calls).toHaveLength(16);
    expect(all?.more).toBe(1);
    expect(all?.calls.map(({ outcome }) => outcome).indexOf("unknown")).toBe(0);
    expect(workInWords(all as OutsideWork)).toMatch(
      /^send \(c7, of run child, key k7\) may have happened; .*; and 1 more$/,
    );
  });
});

test("a hand-off that fails after its child acted is undone as one that succeeded, if its tool can undo it", () => {
  const undoable = { ...EVENT.intended("c1"), undo: true } as Event;
  const acted = one(undoable, EVENT.dispatched("c1"), ended(of("succeeded")), failed("c1"));
  expect(acted.undo).toMatchObject([{ call: "c1" }]);
  expect(one(undoable, EVENT.dispatched("c1"), ended(undefined), failed("c1")).undo ?? []).toEqual([]);
});

test("an end that is decided while a child with an unknown outcome is out leaves its call unknown", () => {
  const failure = { code: "X", message: "x" };
  const ending: Event = { kind: "RecoveryDecided", at: 1, rule: "r", why: "w", action: { kind: "abort", failure } };
  const state = one(EVENT.intended("c1"), EVENT.dispatched("c1"), ending, ended(of("unknown")));
  expect(state.messages.at(-1)?.parts).toMatchObject([{ kind: "result", outcome: "unknown" }]);
});
