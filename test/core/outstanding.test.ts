/** What a run owes in each state, to whom, and when. */
import { nextCommands, fold, foldAll } from "../../src/features/compose.ts";
import type { Command } from "../../src/core/commands.ts";
import { describe, expect, test } from "vitest";
import type { Event } from "../../src/core/event.ts";
import { PHASE_NAMES, isTerminal } from "../../src/core/phases.ts";
import {
  AT,
  GATE_UNTIL,
  IN_PHASE,
  stateAfter,
  answer,
  callPart,
  EVENT,
  view,
  withCalls,
} from "../support/states/states-and-events.ts";

const QUIET = AT + 500;

describe.each(PHASE_NAMES)("in %s", (phase) => {
  const owed: { readonly [P in typeof phase]: readonly Command[] } = {
    Preparing: [{ kind: "prepare" }],
    AwaitingLLM: [{ kind: "askModel" }],
    RetryingLLM: [{ kind: "wait", until: AT + 1_000 }],
    Compacting: [{ kind: "compact" }],
    ExecutingTools: [
      { kind: "intend", calls: ["c1", "c2"] },
      { kind: "perform", calls: ["c3"] },
    ],
    AwaitingApproval: [{ kind: "wait", until: GATE_UNTIL }],
    Reflecting: [{ kind: "judge" }],
    ForceStop: [{ kind: "close" }],
    AwaitingReconcile: [{ kind: "wait", until: GATE_UNTIL }],
    AwaitingChildren: [{ kind: "makeChildren", children: ["local-child-c2"] }],
    Paused: [{ kind: "resume" }],
    AwaitingAgent: [{ kind: "lookAgain" }],
    Completed: [],
    Failed: [],
    Cancelled: [],
  };

  test("exactly these commands are outstanding", () => {
    expect(nextCommands(IN_PHASE[phase](), view())).toEqual(owed[phase]);
  });

  test("an end that is decided comes before every other command, and after the end there is none", () => {
    const state = IN_PHASE[phase]();
    const ending = isTerminal(phase) ? state : fold(state, EVENT.abortDecided);
    // C5: children are asked to stop first.
    const children = state.children.map(({ id }) => id);
    const first = children.length > 0 ? { kind: "stopChildren", children } : { kind: "end" };
    expect(nextCommands(ending, view())).toEqual(isTerminal(phase) ? [] : [first]);
  });

  test("a cancel comes before every other command, a pause before every call that is not released", () => {
    const state = IN_PHASE[phase]();
    const isOver = isTerminal(phase);
    expect(nextCommands(state, view({ cancel: true, pause: true }))).toEqual(isOver ? [] : [{ kind: "cancel" }]);
    const paused = phase === "Paused" ? [{ kind: "awaitAnswer" }] : [{ kind: "pause" }];
    // Another epoch: nothing here is its own.
    expect(nextCommands(state, view({ epoch: 9, pause: true }))).toEqual(isOver ? [] : paused);
  });
});

describe("effectsSettleAt", () => {
  test("schedule 5: delays a failed end until no fenced owner can act, to the millisecond", () => {
    const ending = fold(IN_PHASE.ExecutingTools(), EVENT.abortDecided);
    const quiet = { effectsSettleAt: QUIET };
    expect(nextCommands(ending, view({ ...quiet, now: QUIET - 1 }))).toEqual([{ kind: "wait", until: QUIET }]);
    expect(nextCommands(ending, view({ ...quiet, now: QUIET }))).toEqual([{ kind: "end" }]);
  });

  test("schedule 4: delays *retry* and *failed*, which only it can prove; *succeeded* is applied at once", () => {
    const blocked = IN_PHASE.AwaitingReconcile();
    const owed = (as: "succeeded" | "failed" | "retry", now: number) =>
      nextCommands(fold(blocked, EVENT.answerTaken("c1", 1, answer(as))), view({ now, effectsSettleAt: QUIET }));
    for (const as of ["retry", "failed"] as const) {
      expect(owed(as, QUIET - 1)).toEqual([{ kind: "wait", until: QUIET }]);
      expect(owed(as, QUIET)).toEqual([{ kind: "reconcile", call: "c1" }]);
    }
    expect(owed("succeeded", AT)).toEqual([{ kind: "reconcile", call: "c1" }]);
  });

  test("schedules 3 and 22: delays a probe, as does the settle time of the call", () => {
    const asked = (at: number) => EVENT.decided({ kind: "probe", call: "c1", at, tried: false });
    const open = stateAfter(
      EVENT.started,
      EVENT.replied([callPart("pay")]),
      EVENT.intended("c1", "probed"),
      EVENT.invoked("c1"),
    );
    const owed = (at: number, now: number) =>
      nextCommands(fold(open, asked(at)), view({ now, effectsSettleAt: QUIET }));
    expect(owed(QUIET - 9, QUIET - 1)).toEqual([{ kind: "wait", until: QUIET }]);
    expect(owed(QUIET - 9, QUIET)).toEqual([{ kind: "probe", calls: ["c1"] }]);
    expect(owed(QUIET + 9, QUIET + 8)).toEqual([{ kind: "wait", until: QUIET + 9 }]);
    expect(owed(QUIET + 9, QUIET + 9)).toEqual([{ kind: "probe", calls: ["c1"] }]);
  });

  test("does not delay calls that may continue", () => {
    const state = foldAll(withCalls(), [EVENT.answerTaken("c4")]);
    const commands = nextCommands(state, view({ effectsSettleAt: QUIET }));
    expect(commands.map(({ kind }) => kind)).toEqual(["intend", "perform"]);
  });
});

describe("calls", () => {
  test("of another epoch are recovered, not performed; the epoch of the reader decides", () => {
    const released = stateAfter(
      EVENT.started,
      EVENT.replied([callPart("book")]),
      EVENT.intended("c1"),
      EVENT.invoked("c1", 4),
    );
    expect(nextCommands(released, view({ epoch: 4 }))).toEqual([{ kind: "perform", calls: ["c1"] }]);
    expect(nextCommands(released, view({ epoch: 5 }))).toEqual([{ kind: "recover", calls: ["c1"] }]);
    expect(nextCommands(released, view({ epoch: 3 }))).toEqual([{ kind: "recover", calls: ["c1"] }]);
  });

  test("are handled in this order: answers, calls of dead invocations, new calls, own calls", () => {
    const state = foldAll(withCalls(), [EVENT.answerTaken("c4"), EVENT.intended("c1"), EVENT.invoked("c1", 2)]);
    expect(nextCommands(state, view({ epoch: 2 }))).toEqual([
      { kind: "reconcile", call: "c4" },
      { kind: "recover", calls: ["c3"] },
      { kind: "intend", calls: ["c2"] },
      { kind: "perform", calls: ["c1"] },
    ]);
  });

  test("that this invocation released run before it pauses; those of a dead invocation do not", () => {
    const released = stateAfter(
      EVENT.started,
      EVENT.replied([callPart("book")]),
      EVENT.intended("c1"),
      EVENT.invoked("c1", 4),
    );
    expect(nextCommands(released, view({ epoch: 4, pause: true }))).toEqual([{ kind: "perform", calls: ["c1"] }]);
    expect(nextCommands(released, view({ epoch: 5, pause: true }))).toEqual([{ kind: "pause" }]);
  });

  test("that are unknown wait for an answer only when no other command is possible", () => {
    const unknown = (call: string) => [EVENT.intended(call, "unsafe"), EVENT.invoked(call), EVENT.outcomeLost(call)];
    const two = stateAfter(EVENT.started, EVENT.replied([callPart("a"), callPart("b")]), ...unknown("c1"));
    expect(nextCommands(two, view())).toEqual([{ kind: "intend", calls: ["c2"] }]);
    const blocked = foldAll(two, unknown("c2"));
    expect(nextCommands(blocked, view())).toEqual([{ kind: "awaitAnswer" }]);
    expect(nextCommands(fold(blocked, EVENT.answerTaken("c2")), view())).toEqual([{ kind: "reconcile", call: "c2" }]);
  });

  test("that run alone are released in their order and delay those after them", () => {
    const alone = { ...EVENT.intended("c2"), alone: true } as Event;
    const three = stateAfter(
      EVENT.started,
      EVENT.replied(["a", "b", "c"].map((tool) => callPart(tool))),
      EVENT.intended("c1"),
      alone,
    );
    const judged = foldAll(three, [EVENT.intended("c3"), EVENT.invoked("c1")]);
    expect(nextCommands(judged, view())).toEqual([{ kind: "perform", calls: ["c1"] }]);
    expect(() => fold(judged, EVENT.invoked("c2"))).toThrow("call c2 waits for an earlier call");
    expect(() => fold(judged, EVENT.invoked("c3"))).toThrow("call c3 waits for an earlier call");
    const next = fold(judged, EVENT.resulted("c1"));
    expect(nextCommands(next, view())).toEqual([{ kind: "intend", calls: ["c2"] }]);
    const lost = foldAll(next, [EVENT.invoked("c2"), EVENT.outcomeLost("c2")]);
    expect({ phase: lost.phase, commands: nextCommands(lost, view()) }).toEqual({
      phase: "AwaitingReconcile",
      commands: [{ kind: "awaitAnswer" }],
    });
  });

  test("that are unknown without an answer in time are given up after effectsSettleAt", () => {
    const unknown = { ...EVENT.outcomeLost("c1", AT + 9), onUnknown: "tell" } as Event;
    const state = stateAfter(
      EVENT.started,
      EVENT.replied([callPart("a")]),
      EVENT.intended("c1", "unsafe"),
      EVENT.invoked("c1"),
      unknown,
    );
    const owed = (now: number, effectsSettleAt = 0) => nextCommands(state, view({ now, effectsSettleAt }));
    expect(owed(AT + 8)).toEqual([{ kind: "wait", until: AT + 9 }]);
    expect(owed(AT + 9, AT + 20)).toEqual([{ kind: "wait", until: AT + 20 }]);
    expect(owed(AT + 9)).toEqual([{ kind: "giveUp", call: "c1" }]);
    expect(nextCommands(fold(state, EVENT.answerTaken("c1")), view({ now: AT + 9 }))).toEqual([
      { kind: "reconcile", call: "c1" },
    ]);
  });

  test("that are all settled leave the model to be called", () => {
    const state = stateAfter(EVENT.started, EVENT.replied([callPart("a")]), EVENT.resulted("c1"));
    expect(nextCommands(state, view())).toEqual([{ kind: "askModel" }]);
  });
});

describe("an answer about what is true outside", () => {
  const answered = (as: "succeeded" | "failed" | "retry") =>
    fold(IN_PHASE.AwaitingReconcile(), EVENT.answerTaken("c1", 1, answer(as)));
  const ends = {
    "a cancel": EVENT.decided({ kind: "cancel" }),
    "a failure": EVENT.abortDecided,
    "a deadline": EVENT.decided({
      kind: "abort",
      failure: { code: "DeadlineExpired", message: "late" },
      next: "leave",
    }),
  };

  test.each(Object.entries(ends))("is applied before the end, where %s is decided first", (_, ends) => {
    for (const aside of [[], [EVENT.paused], [EVENT.holdDecided("2")]]) {
      for (const as of ["succeeded", "failed"] as const) {
        const state = foldAll(answered(as), [...aside, ends]);
        const late = view({ effectsSettleAt: QUIET, now: QUIET - 1 });
        expect(nextCommands(state, late)).toEqual([{ kind: "wait", until: QUIET }]);
        const due = { kind: "reconcile", call: "c1" };
        expect(nextCommands(state, view({ now: QUIET }))).toEqual([due]);
        const after = fold(state, EVENT.reconciled("c1", answer(as)));
        expect({ isNotPaused: after.pausedFrom === null, commands: nextCommands(after, view()) }).toEqual({
          isNotPaused: aside.length === 0,
          commands: [{ kind: "end" }],
        });
      }
    }
  });

  test("is applied before the effects are undone, so that they are those which happened", () => {
    const asked = { kind: "compensate", next: "cancel", by: "ada" } as const;
    const absorbed = { kind: "MessageAbsorbed", at: AT, stage: "taken", message: "undo#1", body: asked } as const;
    const state = foldAll(answered("failed"), [absorbed, EVENT.decided({ kind: "cancel" })]);
    const undoable = {
      ...state,
      open: state.open.map((open) => ({ ...open, intent: open.intent && { ...open.intent, undo: true as const } })),
    };
    expect(nextCommands(undoable, view())).toEqual([{ kind: "reconcile", call: "c1" }]);
    expect(fold(undoable, EVENT.reconciled("c1", answer("failed"))).undo ?? []).toEqual([]);
    expect(fold(undoable, EVENT.reconciled("c1", answer("succeeded"))).undo).toMatchObject([{ call: "c1" }]);
  });

  test("that permits another attempt starts nothing in a run that is to end", () => {
    expect(nextCommands(fold(answered("retry"), EVENT.abortDecided), view())).toEqual([{ kind: "end" }]);
  });

  test("of a run that stands aside leads to where it stood: one that is redriven goes on there", () => {
    const state = foldAll(answered("succeeded"), [EVENT.paused, EVENT.reconciled("c1", answer("succeeded"))]);
    expect({ phase: state.phase, pausedFrom: state.pausedFrom }).toEqual({
      phase: "Paused",
      pausedFrom: fold(answered("succeeded"), EVENT.reconciled("c1", answer("succeeded"))).phase,
    });
  });
});

test("a model that failed is called again at its time, not before", () => {
  const retrying = IN_PHASE.RetryingLLM();
  expect(nextCommands(retrying, view({ now: AT + 999 }))).toEqual([{ kind: "wait", until: AT + 1_000 }]);
  expect(nextCommands(retrying, view({ now: AT + 1_000 }))).toEqual([{ kind: "askModel" }]);
});
