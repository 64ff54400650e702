/** What a run owes in each state, to whom, and when. */
import { describe, expect, test } from "vitest";
import type { Event } from "../../src/core/event.ts";
import { type Command, nextCommands } from "../../src/core/outstanding.ts";
import { PHASE_NAMES, isTerminal } from "../../src/core/phases.ts";
import { fold, foldAll } from "../../src/core/transition.ts";
import {
  AT,
  GATE_UNTIL,
  IN_PHASE,
  aborted,
  after,
  answer,
  calls,
  decided,
  intended,
  invoked,
  lostSight,
} from "../support/build.ts";
import { replied, resulted, startedEvent, taken, view, withCalls } from "../support/build.ts";

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
    Paused: [{ kind: "resume" }],
    AwaitingAgent: [{ kind: "lookAgain" }],
    Completed: [],
    Failed: [],
    Cancelled: [],
  };

  test("exactly this is owed", () => {
    expect(nextCommands(IN_PHASE[phase](), view())).toEqual(owed[phase]);
  });

  test("an end that is decided comes before everything else, and after the end nothing does", () => {
    const state = IN_PHASE[phase]();
    const ending = isTerminal(phase) ? state : fold(state, aborted);
    expect(nextCommands(ending, view())).toEqual(isTerminal(phase) ? [] : [{ kind: "end" }]);
  });

  test("a cancel comes before all of it, a pause before whatever is not released yet", () => {
    const state = IN_PHASE[phase]();
    const isOver = isTerminal(phase);
    expect(nextCommands(state, view({ cancel: true, pause: true }))).toEqual(isOver ? [] : [{ kind: "cancel" }]);
    const paused = phase === "Paused" ? [{ kind: "awaitAnswer" }] : [{ kind: "pause" }];
    // Another epoch: nothing here is its own.
    expect(nextCommands(state, view({ epoch: 9, pause: true }))).toEqual(isOver ? [] : paused);
  });
});

describe("quiet", () => {
  test("schedule 5: holds back a failed end until no overtaken owner can act, to the millisecond", () => {
    const ending = fold(IN_PHASE.ExecutingTools(), aborted);
    const quiet = { effectsSettleAt: QUIET };
    expect(nextCommands(ending, view({ ...quiet, now: QUIET - 1 }))).toEqual([{ kind: "wait", until: QUIET }]);
    expect(nextCommands(ending, view({ ...quiet, now: QUIET }))).toEqual([{ kind: "end" }]);
  });

  test("schedule 4: holds back *retry* and *failed*, which only quiet can prove; *succeeded* is taken at once", () => {
    const blocked = IN_PHASE.AwaitingReconcile();
    const owed = (as: "succeeded" | "failed" | "retry", now: number) =>
      nextCommands(fold(blocked, taken("c1", 1, answer(as))), view({ now, effectsSettleAt: QUIET }));
    for (const as of ["retry", "failed"] as const) {
      expect(owed(as, QUIET - 1)).toEqual([{ kind: "wait", until: QUIET }]);
      expect(owed(as, QUIET)).toEqual([{ kind: "reconcile", call: "c1" }]);
    }
    expect(owed("succeeded", AT)).toEqual([{ kind: "reconcile", call: "c1" }]);
  });

  test("schedules 3 and 22: holds back a probe, and so does what may still land", () => {
    const asked = (at: number) => decided({ kind: "probe", call: "c1", at, tried: false });
    const open = after(startedEvent, replied([calls("pay")]), intended("c1", "probed"), invoked("c1"));
    const owed = (at: number, now: number) =>
      nextCommands(fold(open, asked(at)), view({ now, effectsSettleAt: QUIET }));
    expect(owed(QUIET - 9, QUIET - 1)).toEqual([{ kind: "wait", until: QUIET }]);
    expect(owed(QUIET - 9, QUIET)).toEqual([{ kind: "probe", calls: ["c1"] }]);
    expect(owed(QUIET + 9, QUIET + 8)).toEqual([{ kind: "wait", until: QUIET + 9 }]);
    expect(owed(QUIET + 9, QUIET + 9)).toEqual([{ kind: "probe", calls: ["c1"] }]);
  });

  test("does not hold back the calls that may go on", () => {
    const state = foldAll(withCalls(), [taken("c4")]);
    const commands = nextCommands(state, view({ effectsSettleAt: QUIET }));
    expect(commands.map(({ kind }) => kind)).toEqual(["intend", "perform"]);
  });
});

describe("calls", () => {
  test("of another epoch are recovered, not performed; whose epoch asks makes the difference", () => {
    const released = after(startedEvent, replied([calls("book")]), intended("c1"), invoked("c1", 4));
    expect(nextCommands(released, view({ epoch: 4 }))).toEqual([{ kind: "perform", calls: ["c1"] }]);
    expect(nextCommands(released, view({ epoch: 5 }))).toEqual([{ kind: "recover", calls: ["c1"] }]);
    expect(nextCommands(released, view({ epoch: 3 }))).toEqual([{ kind: "recover", calls: ["c1"] }]);
  });

  test("are taken in this order: answers, calls of the dead, new calls, own calls", () => {
    const state = foldAll(withCalls(), [taken("c4"), intended("c1"), invoked("c1", 2)]);
    expect(nextCommands(state, view({ epoch: 2 }))).toEqual([
      { kind: "reconcile", call: "c4" },
      { kind: "recover", calls: ["c3"] },
      { kind: "intend", calls: ["c2"] },
      { kind: "perform", calls: ["c1"] },
    ]);
  });

  test("that this invocation released are run before it pauses, those of a dead one are not", () => {
    const released = after(startedEvent, replied([calls("book")]), intended("c1"), invoked("c1", 4));
    expect(nextCommands(released, view({ epoch: 4, pause: true }))).toEqual([{ kind: "perform", calls: ["c1"] }]);
    expect(nextCommands(released, view({ epoch: 5, pause: true }))).toEqual([{ kind: "pause" }]);
  });

  test("that are unknown are asked about only when nothing else can be done", () => {
    const unknown = (call: string) => [intended(call, "unsafe"), invoked(call), lostSight(call)];
    const two = after(startedEvent, replied([calls("a"), calls("b")]), ...unknown("c1"));
    expect(nextCommands(two, view())).toEqual([{ kind: "intend", calls: ["c2"] }]);
    const blocked = foldAll(two, unknown("c2"));
    expect(nextCommands(blocked, view())).toEqual([{ kind: "awaitAnswer" }]);
    expect(nextCommands(fold(blocked, taken("c2")), view())).toEqual([{ kind: "reconcile", call: "c2" }]);
  });

  test("that run alone are released in their place, and hold up those after them", () => {
    const alone = { ...intended("c2"), alone: true } as Event;
    const three = after(startedEvent, replied(["a", "b", "c"].map((tool) => calls(tool))), intended("c1"), alone);
    const judged = foldAll(three, [intended("c3"), invoked("c1")]);
    expect(nextCommands(judged, view())).toEqual([{ kind: "perform", calls: ["c1"] }]);
    expect(() => fold(judged, invoked("c2"))).toThrow("call c2 waits for an earlier call");
    expect(() => fold(judged, invoked("c3"))).toThrow("call c3 waits for an earlier call");
    const next = fold(judged, resulted("c1"));
    expect(nextCommands(next, view())).toEqual([{ kind: "intend", calls: ["c2"] }]);
    const lost = foldAll(next, [invoked("c2"), lostSight("c2")]);
    expect([lost.phase, nextCommands(lost, view())]).toEqual(["AwaitingReconcile", [{ kind: "awaitAnswer" }]]);
  });

  test("of which nobody said anything in time are given up, after quiet, and not over an answer", () => {
    const unknown = { ...lostSight("c1", AT + 9), otherwise: "tell" } as Event;
    const state = after(startedEvent, replied([calls("a")]), intended("c1", "unsafe"), invoked("c1"), unknown);
    const owed = (now: number, effectsSettleAt = 0) => nextCommands(state, view({ now, effectsSettleAt }));
    expect(owed(AT + 8)).toEqual([{ kind: "wait", until: AT + 9 }]);
    expect(owed(AT + 9, AT + 20)).toEqual([{ kind: "wait", until: AT + 20 }]);
    expect(owed(AT + 9)).toEqual([{ kind: "giveUp", call: "c1" }]);
    expect(nextCommands(fold(state, taken("c1")), view({ now: AT + 9 }))).toEqual([{ kind: "reconcile", call: "c1" }]);
  });

  test("when all are settled leave the model to be asked", () => {
    const state = after(startedEvent, replied([calls("a")]), resulted("c1"));
    expect(nextCommands(state, view())).toEqual([{ kind: "askModel" }]);
  });
});

test("a model that failed is asked again at its time, not before", () => {
  const retrying = IN_PHASE.RetryingLLM();
  expect(nextCommands(retrying, view({ now: AT + 999 }))).toEqual([{ kind: "wait", until: AT + 1_000 }]);
  expect(nextCommands(retrying, view({ now: AT + 1_000 }))).toEqual([{ kind: "askModel" }]);
});
