/** Gates in the core: what is asked, what a decision changes, and what a run owes as long as there is none. */
import { nextCommands, foldAll } from "../../../src/features/compose.ts";
import type { Command } from "../../../src/core/commands.ts";
import { describe, expect, test } from "vitest";
import type { Event } from "../../../src/core/event.ts";
import { gateId } from "../../../src/protocol/ids.ts";
import { argsOf } from "../../../src/core/calls/ledger.ts";
import { inline } from "../../../src/core/message.ts";
import type { State } from "../../../src/core/state.ts";
import {
  AT,
  FAILURE,
  GATE_UNTIL,
  IN_PHASE,
  stateAfter,
  callPart,
  decision,
  EVENT,
  hash,
  view,
} from "../../support/states/states-and-events.ts";

const waiting = (): State =>
  stateAfter(EVENT.started, EVENT.replied([callPart("book")]), EVENT.intended("c1"), EVENT.gateOpened("c1"));
const two = (...events: readonly Event[]): State =>
  stateAfter(EVENT.started, EVENT.replied([callPart("book", { to: "LIS" }), callPart("pay", { euros: 5 })]), ...events);
const kinds = (commands: readonly Command[]): readonly string[] => commands.map(({ kind }) => kind);

describe("a gate", () => {
  test("opens beside a child run or a wait, although its call runs alone and so waits for that one", () => {
    for (const begun of [EVENT.dispatched("c1"), EVENT.waitBegun("c1"), EVENT.waitBegun("c1", "event")]) {
      const state = two(
        EVENT.intended("c1"),
        begun,
        { ...EVENT.intended("c2"), alone: true } as Event,
        EVENT.gateOpened("c2"),
      );
      expect(state).toMatchObject({ phase: "AwaitingApproval", open: [{ status: "started" }, { status: "gated" }] });
    }
  });

  test("that expires asks again only if it was opened so, and only about itself", () => {
    const again = (gate: string) => EVENT.decided({ kind: "askAgain", call: "c1", gate });
    const asking = two(EVENT.intended("c1"), { ...EVENT.gateOpened("c1"), asksAgainMs: 5_000 } as Event);
    const asked = foldAll(asking, [again("gate-c1")]);
    expect(asked.open[0]).toMatchObject({ status: "proposed", timesReopened: 1 });
    expect(asked.open[0]?.heldBy).toBeUndefined();
    expect(() => foldAll(asking, [again("gate-c2")])).toThrow("does not wait at gate gate-c2");
    expect(() => foldAll(two(EVENT.intended("c1"), EVENT.gateOpened("c1")), [again("gate-c1")])).toThrow(
      "denied when it expires",
    );
    expect(() => foldAll(asking, [EVENT.decisionTaken("c1"), again("gate-c1")])).toThrow("does not wait at gate");
  });

  test("holds its call: no action is outstanding until it expires", () => {
    const state = waiting();
    expect(state).toMatchObject({ phase: "AwaitingApproval", open: [{ status: "gated", releasedBy: null }] });
    expect(state.open[0]?.heldBy).toEqual({
      by: "gate",
      ...{ gate: "gate-c1", planHash: "0".repeat(64), argsHash: "0".repeat(64), reason: "it costs money" },
      ...{ expiresAt: GATE_UNTIL, decision: null },
    });
    expect(nextCommands(state, view())).toEqual([{ kind: "wait", until: GATE_UNTIL }]);
    expect(() => foldAll(state, [EVENT.invoked("c1")])).toThrow("ToolInvoked does not happen in AwaitingApproval");
    expect(() => two(EVENT.intended("c1"), EVENT.gateOpened("c1"), EVENT.invoked("c1"))).toThrow(
      "call c1 waits at a gate",
    );
  });

  test("is opened once for each intent", () => {
    expect(() => foldAll(two(), [EVENT.gateOpened("c1")])).toThrow("call c1 is not intended");
    const asked = foldAll(two(), [EVENT.intended("c1"), EVENT.gateOpened("c1")]);
    expect(() => foldAll(asked, [EVENT.gateOpened("c1")])).toThrow("call c1 is not intended");
    const released = foldAll(two(), [EVENT.intended("c1"), EVENT.invoked("c1")]);
    expect(() => foldAll(released, [EVENT.gateOpened("c1")])).toThrow("call c1 is not intended");
  });

  test("beside a running call lets it run, and the run stays running", () => {
    const state = two(EVENT.intended("c1"), EVENT.gateOpened("c1"), EVENT.intended("c2"), EVENT.invoked("c2"));
    expect(state.phase).toBe("ExecutingTools");
    expect(nextCommands(state, view())).toEqual([{ kind: "perform", calls: ["c2"] }]);
    expect(foldAll(state, [EVENT.resulted("c2")]).phase).toBe("AwaitingApproval");
  });

  test("beside an unknown call leaves the run blocked, and waits at most until it expires", () => {
    const state = IN_PHASE.AwaitingReconcile();
    expect(nextCommands(state, view())).toEqual([{ kind: "wait", until: GATE_UNTIL }]);
    expect(nextCommands(state, view({ now: GATE_UNTIL }))).toEqual([{ kind: "expireGate", call: "c2" }]);
    // Decided: the call is released although another one is still unknown, and then it is blocked again.
    const permitted = foldAll(state, [EVENT.approved("c2")]);
    expect(permitted.phase).toBe("ExecutingTools");
    expect(nextCommands(permitted, view())).toEqual([{ kind: "intend", calls: ["c2"] }]);
    expect(foldAll(state, [EVENT.approved("c2", decision("deny"))]).phase).toBe("AwaitingReconcile");
    expect(nextCommands(foldAll(state, [EVENT.approved("c2", decision("deny"))]), view())).toEqual([
      { kind: "awaitAnswer" },
    ]);
    // Answered: what is left is a gate.
    const answered = foldAll(state, [EVENT.reconciled("c1", { as: "failed", value: null, by: "ann", note: null })]);
    expect(answered.phase).toBe("AwaitingApproval");
  });

  test("beside an answer that must wait for effectsSettleAt waits for the earlier of the two times", () => {
    const state = foldAll(IN_PHASE.AwaitingReconcile(), [EVENT.answerTaken("c1")]);
    const until = (effectsSettleAt: number) => nextCommands(state, view({ effectsSettleAt }));
    expect(until(AT + 5)).toEqual([{ kind: "wait", until: AT + 5 }]);
    expect(until(GATE_UNTIL + 5)).toEqual([{ kind: "wait", until: GATE_UNTIL }]);
  });

  test("that expires first determines the wait", () => {
    const later = { ...EVENT.gateOpened("c2"), expiresAt: GATE_UNTIL + 9 } as Event;
    const state = two(EVENT.intended("c1"), EVENT.gateOpened("c1"), EVENT.intended("c2"), later);
    expect(nextCommands(state, view())).toEqual([{ kind: "wait", until: GATE_UNTIL }]);
    expect(nextCommands(state, view({ now: GATE_UNTIL - 1 }))).toEqual([{ kind: "wait", until: GATE_UNTIL }]);
    expect(nextCommands(state, view({ now: GATE_UNTIL }))).toEqual([{ kind: "expireGate", call: "c1" }]);
    const denied = foldAll(state, [EVENT.approved("c1", decision("deny"))]);
    expect(nextCommands(denied, view({ now: GATE_UNTIL }))).toEqual([{ kind: "wait", until: GATE_UNTIL + 9 }]);
  });

  test("of a paused run is neither expired nor decided before the resume, and no decision is lost", () => {
    const state = foldAll(waiting(), [EVENT.paused, EVENT.decisionTaken("c1")]);
    const late = view({ now: GATE_UNTIL + 1, pause: true });
    expect(nextCommands(state, late)).toEqual([{ kind: "awaitAnswer" }]);
    expect(() => foldAll(state, [EVENT.approved("c1")])).toThrow("HumanApprovalReceived does not happen in Paused");
    expect(nextCommands(state, { ...late, pause: false })).toEqual([{ kind: "resume" }]);
    const back = foldAll(state, [EVENT.resumed]);
    expect(back.phase).toBe("AwaitingApproval");
    expect(nextCommands(back, { ...late, pause: false })).toEqual([{ kind: "decide", call: "c1" }]);
  });

  test("of a run that must end delays nothing", () => {
    expect(nextCommands(waiting(), view({ cancel: true }))).toEqual([{ kind: "cancel" }]);
    const ending = foldAll(waiting(), [EVENT.decided({ kind: "abort", failure: FAILURE })]);
    expect(nextCommands(ending, view({ now: GATE_UNTIL }))).toEqual([{ kind: "end" }]);
  });
});

describe("a decision", () => {
  test("is kept until it is applied, even if the gate expires meanwhile", () => {
    const state = foldAll(waiting(), [EVENT.decisionTaken("c1")]);
    expect(state).toMatchObject({ phase: "AwaitingApproval", open: [{ status: "gated" }] });
    for (const now of [AT, GATE_UNTIL, GATE_UNTIL + 1]) {
      expect(nextCommands(state, view({ now }))).toEqual([{ kind: "decide", call: "c1" }]);
    }
  });

  test("is applied before a gate beside it expires", () => {
    const both = two(
      EVENT.intended("c1"),
      EVENT.gateOpened("c1"),
      EVENT.intended("c2"),
      EVENT.gateOpened("c2"),
      EVENT.decisionTaken("c2"),
    );
    expect(nextCommands(both, view({ now: GATE_UNTIL }))).toEqual([{ kind: "decide", call: "c2" }]);
  });

  test("counts once: a second decision changes nothing", () => {
    const again = { ...EVENT.decisionTaken("c1", decision("deny")), message: "gate#again" } as Event;
    const state = foldAll(waiting(), [EVENT.decisionTaken("c1"), again]);
    expect(state.open[0]?.heldBy).toMatchObject({ by: "gate", decision: { as: "approve" } });
    expect(state.absorbed).toEqual(["gate#gate-c1", "gate#again"]);
  });

  test("about a gate that is not open changes nothing except that it is absorbed", () => {
    for (const state of [waiting(), two(), IN_PHASE.AwaitingLLM(), IN_PHASE.ExecutingTools()]) {
      const next = foldAll(state, [{ ...EVENT.decisionTaken("c9"), message: "m" } as Event]);
      expect(next).toEqual({ ...state, absorbed: ["m"] });
    }
    expect(() => foldAll(two(), [EVENT.approved("c1")])).toThrow("call c1 does not wait at gate gate-c1");
    const other = { ...EVENT.approved("c1"), gate: "gate-c2" } as Event;
    expect(() => foldAll(waiting(), [other])).toThrow("call c1 does not wait at gate gate-c2");
  });

  test("to approve permits the call unchanged: it is judged once more, then released by that invocation", () => {
    const state = foldAll(waiting(), [EVENT.approved("c1")]);
    expect(state).toMatchObject({ phase: "ExecutingTools" });
    expect(state.open).toMatchObject([{ status: "permitted", edited: null, releasedBy: null }]);
    expect(state.open[0]?.heldBy).toBeUndefined();
    expect(nextCommands(state, view({ epoch: 7 }))).toEqual([{ kind: "intend", calls: ["c1"] }]);
    const released = foldAll(state, [EVENT.invoked("c1", 7)]);
    expect(nextCommands(released, view({ epoch: 7 }))).toEqual([{ kind: "perform", calls: ["c1"] }]);
    expect(nextCommands(released, view({ epoch: 8 }))).toEqual([{ kind: "recover", calls: ["c1"] }]);
  });

  test("to edit makes a new intent with a new key, and its arguments replace those of the call", () => {
    const state = foldAll(waiting(), [EVENT.approved("c1", decision("edit", { euros: 3 }))]);
    expect(argsOf(state, "c1")).toEqual(inline({ euros: 3 }));
    const again = foldAll(state, [
      { ...EVENT.intended("c1"), key: "another key", argsDigest: "1".repeat(64) } as Event,
    ]);
    expect(again.open).toMatchObject([
      { status: "permitted", intent: { key: "another key", argsDigest: "1".repeat(64) }, edited: inline({ euros: 3 }) },
    ]);
    const settled = foldAll(again, [EVENT.invoked("c1"), EVENT.resulted("c1")]);
    expect(settled.messages.at(-1)?.parts).toMatchObject([{ kind: "result", edited: inline({ euros: 3 }) }]);
  });

  test("to deny settles the call with who and why, and closes the batch when it was the last call", () => {
    const denied = (note: string | null) =>
      foldAll(waiting(), [EVENT.approved("c1", { as: "deny", args: null, by: "ann", note })]);
    expect(denied(null)).toMatchObject({ phase: "AwaitingLLM", open: [] });
    expect(denied(null).messages.at(-1)).toMatchObject({
      role: "tool",
      parts: [{ kind: "result", call: "c1", outcome: "failed", value: inline("denied by ann"), edited: null }],
    });
    expect(denied("too much").messages.at(-1)?.parts).toMatchObject([{ value: inline("denied by ann: too much") }]);
    expect(
      two(
        EVENT.intended("c1"),
        EVENT.gateOpened("c1"),
        EVENT.intended("c2"),
        EVENT.gateOpened("c2"),
        EVENT.approved("c2", decision("deny")),
      ).phase,
    ).toBe("AwaitingApproval");
  });

  test("is opened again for a permitted call whose arguments are another value now", () => {
    const again = { ...EVENT.gateOpened("c1"), gate: "again-c1", timesReopened: 1 } as Event;
    const state = foldAll(waiting(), [EVENT.approved("c1"), EVENT.intended("c1"), again]);
    expect(state.open[0]).toMatchObject({ status: "gated", timesReopened: 1, heldBy: { gate: "again-c1" } });
    expect(() => foldAll(waiting(), [EVENT.approved("c1"), EVENT.gateOpened("c1")])).toThrow("call c1 is not intended");
  });

  test("is kept: a call that became unknown and may be retried opens no second gate", () => {
    const state = foldAll(waiting(), [
      ...[EVENT.approved("c1"), EVENT.intended("c1", "unsafe"), EVENT.invoked("c1"), EVENT.outcomeLost("c1")],
      ...[EVENT.answerTaken("c1"), EVENT.reconciled("c1")],
    ]);
    expect(state.open).toMatchObject([{ status: "permitted" }]);
    expect(state.open[0]?.heldBy).toBeUndefined();
    expect(kinds(nextCommands(state, view()))).toEqual(["intend"]);
    expect(() => foldAll(state, [EVENT.gateOpened("c1")])).toThrow("call c1 is not intended");
  });
});

test("a gate is identified by attempt, call, plan and arguments: a change of any makes another gate (schedule 29)", () => {
  const of = { attempt: 1, call: "c1", planHash: "p", argsHash: "a" };
  const id = gateId(hash, of);
  expect(gateId(hash, { ...of })).toBe(id);
  expect(id).toMatch(/^c1-[a-z2-7]{26}$/);
  const others = [
    { attempt: 2 },
    { call: "c2" },
    { planHash: "q" },
    { argsHash: "b" },
    { planHash: "pa", argsHash: "" },
  ];
  const ids = others.map((change) => gateId(hash, { ...of, ...change }));
  expect(new Set([id, ...ids]).size).toBe(others.length + 1);
});
