/** What a decided end still asks of a run: what is undone first, and whom it waits for. */
import { describe, expect, test } from "vitest";
import {
  DEADLINE_EXPIRED,
  endsByDeadline,
  expiresAt,
  isRestartRevoked,
  nextCompensationStep,
  waitsForChildren,
  wantsRestart,
} from "../../src/core/policy/ending.ts";
import type { OpenCall, State } from "../../src/core/state.ts";
import { AT, FAILURE, IN_PHASE } from "../support/states/states-and-events.ts";

const state = (change: Partial<State> = {}): State => ({ ...IN_PHASE.AwaitingLLM(), ...change });
const failed = { kind: "failed", failure: FAILURE } as const;
const cancelled = { kind: "cancelled" } as const;
const undo = [{ call: "c1", key: "key-c1", from: null }];
const saga = { undo: [], failures: [] } as unknown as NonNullable<State["saga"]>;
const [call] = IN_PHASE.ExecutingTools().open as readonly [OpenCall];
/** A call with an undo, which a process released. */
const released: OpenCall = {
  ...call,
  intent: { effect: "keyed", key: "k", undo: true } as OpenCall["intent"],
  releasedBy: 1,
};
const byHand = (next: "cancel" | "restart") =>
  ({ compensate: { next, by: "ada" } as State["compensate"] }) as Partial<State>;

describe("before a decided end", () => {
  test("what may have happened and can be undone is undone", () => {
    expect(nextCompensationStep(state({ ending: failed, undo }))).toBe("compensate");
    expect(nextCompensationStep(state({ ending: failed, open: [released] }))).toBe("compensate");
    expect(nextCompensationStep(state({ ending: failed, open: [call] }))).toBeNull();
    expect(nextCompensationStep(state({ ending: failed }))).toBeNull();
  });

  test("nothing is undone without an end, after one that leaves its effects, or once it is forced", () => {
    expect(nextCompensationStep(state({ undo }))).toBeNull();
    expect(nextCompensationStep(state({ ending: { ...failed, next: "leave" }, undo }))).toBeNull();
    expect(nextCompensationStep(state({ ending: { ...failed, next: "end" }, undo }))).toBe("compensate");
    expect(nextCompensationStep(state({ ending: { ...failed, forced: true }, undo }))).toBeNull();
  });

  test("a cancelled run undoes its effects only if an operator asked for it", () => {
    expect(nextCompensationStep(state({ ending: cancelled, undo }))).toBeNull();
    expect(nextCompensationStep(state({ ending: cancelled, undo, ...byHand("restart") }))).toBeNull();
    expect(nextCompensationStep(state({ ending: cancelled, undo, ...byHand("cancel") }))).toBe("compensate");
  });

  test("a compensation that has begun settles its open calls, undoes the others, and says how it went", () => {
    expect(nextCompensationStep(state({ ending: failed, saga, open: [call], undo }))).toBe("calls");
    expect(nextCompensationStep(state({ ending: failed, saga, undo }))).toBe("undo");
    expect(nextCompensationStep(state({ ending: failed, saga }))).toBe("conclude");
    expect(nextCompensationStep(state({ ending: cancelled, saga, ...byHand("cancel") }))).toBeNull();
  });

  test("a restart that an operator asked for is a compensation of its own, once the run has started", () => {
    expect(nextCompensationStep(state({ ending: failed, ...byHand("restart") }))).toBe("compensate");
    expect({
      started: wantsRestart(state(byHand("restart"))),
      before: wantsRestart(state({ ...byHand("restart"), phase: "Preparing" })),
      cancel: wantsRestart(state(byHand("cancel"))),
    }).toEqual({ started: true, before: false, cancel: false });
  });
});

test("a restart is revoked when an operator cancels the run instead", () => {
  const restarts = { ...failed, restarts: true } as const;
  expect(isRestartRevoked(state({ ending: restarts, ...byHand("cancel") }))).toBe(true);
  expect(isRestartRevoked(state({ ending: restarts, ...byHand("restart") }))).toBe(false);
  expect(isRestartRevoked(state({ ending: failed, ...byHand("cancel") }))).toBe(false);
  expect(isRestartRevoked(state({ ending: cancelled, ...byHand("cancel") }))).toBe(false);
});

test("an end waits for the children that stand, unless it is forced", () => {
  const { children } = IN_PHASE.AwaitingChildren();
  expect(waitsForChildren(state({ children }))).toBe(true);
  expect(waitsForChildren(state({ children, ending: failed }))).toBe(true);
  expect(waitsForChildren(state({ children, ending: { ...failed, forced: true } }))).toBe(false);
  expect(waitsForChildren(state({ children: [], ending: failed }))).toBe(false);
});

describe("the deadline of a run", () => {
  const deadline = { at: AT + 100, endBy: AT + 200 } as NonNullable<State["deadline"]>;
  const byDeadline = { kind: "failed", failure: { code: DEADLINE_EXPIRED, message: "late" } } as const;
  const { children } = IN_PHASE.AwaitingChildren();

  test("ends what it does at its time, unless it has none or makes its closing call already", () => {
    expect(expiresAt(state({ deadline }))).toBe(AT + 100);
    expect(expiresAt(state())).toBeNull();
    expect(expiresAt(state({ deadline, phase: "ForceStop" }))).toBeNull();
    expect(expiresAt(state({ deadline, phase: "Paused", pausedFrom: "ForceStop" }))).toBeNull();
    expect(expiresAt(state({ deadline, phase: "Paused", pausedFrom: "AwaitingLLM" }))).toBe(AT + 100);
  });

  test("bounds what its own end still does: the undoing, and the wait for children", () => {
    expect(expiresAt(state({ deadline, ending: byDeadline, undo }))).toBe(AT + 200);
    expect(expiresAt(state({ deadline, ending: byDeadline, children }))).toBe(AT + 200);
    expect(expiresAt(state({ deadline, ending: { ...byDeadline, forced: true }, children }))).toBeNull();
    expect(expiresAt(state({ deadline, ending: byDeadline }))).toBeNull();
  });

  test("does not bound an end that was decided for another reason", () => {
    expect(expiresAt(state({ deadline, ending: failed, undo }))).toBeNull();
    expect({
      its: endsByDeadline(state({ ending: byDeadline })),
      another: endsByDeadline(state({ ending: failed })),
    }).toEqual({ its: true, another: false });
    expect({ cancelled: endsByDeadline(state({ ending: cancelled })), none: endsByDeadline(state()) }).toEqual({
      cancelled: false,
      none: false,
    });
  });
});
