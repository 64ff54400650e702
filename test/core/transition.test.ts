/** Every pair of phase and event, and what each event does to the state and to the transcript. */
import { accepts, fold, foldAll, transition } from "../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import type { Event, EventKind } from "../../src/core/event.ts";
import type { State } from "../../src/core/state.ts";
import { InvariantViolated } from "../../src/core/ensure.ts";
import { inline, wordsOf } from "../../src/core/message.ts";
import { PHASE_NAMES, type Phase, isAside, isTerminal, mayFollow, mayRedrive } from "../../src/core/phases.ts";
import { KERNEL } from "../../src/features/compose.ts";
import { deepFreeze } from "../support/walks/random-walks.ts";
import {
  AT,
  EVENT_KINDS,
  FAILURE,
  IN_PHASE,
  stateAfter,
  answer,
  callPart,
  eventOf,
  EVENT,
  newState,
  textPart,
  view,
} from "../support/states/states-and-events.ts";
import { withChildren } from "../support/states/child-events.ts";
import { withDetached } from "../support/states/detached-events.ts";
import { withWait } from "../support/states/wait-events.ts";

/** Events about children and model jobs need some, and an end that does not wait for them is forced. */
function stateOf(kind: EventKind, phase: Phase): State {
  const isOfDetached = kind === "DetachedCallSubmitted" || kind === "DetachedCallEnded";
  const plain = isOfDetached ? withDetached(IN_PHASE[phase]()) : IN_PHASE[phase]();
  const state =
    kind === "InputRefused" || (kind === "ToolResultRecorded" && phase !== "ExecutingTools") ? withWait(plain) : plain;
  if (phase === "AwaitingChildren")
    return kind === "RunEnded" ? { ...state, ending: { kind: "cancelled", forced: true } } : state;
  return /^Child(Started|Superseded|Continued|Resumed|AskedToStop|NeverMade)$/.test(kind) ? withChildren(state) : state;
}

describe.each(PHASE_NAMES)("in %s", (phase) => {
  test("the state of this phase has it", () => {
    expect(IN_PHASE[phase]().phase).toBe(phase);
  });

  test.each(EVENT_KINDS)("%s is accepted or refused as the table states", (kind) => {
    const state = deepFreeze(stateOf(kind, phase));
    const event = deepFreeze(eventOf(kind, phase));
    if (!accepts(phase, kind)) {
      const refusal = new InvariantViolated(`${kind} does not happen in ${phase}`);
      expect(() => fold(state, event)).toThrow(refusal);
      return;
    }
    const next = fold(state, event);
    expect((kind === "RunRedriven" ? mayRedrive : mayFollow)(phase, next.phase)).toBe(true);
    expect(next.messages.slice(0, state.messages.length)).toEqual(state.messages);
  });
});

test("every event is accepted in some phase, and only a redrive after the end", () => {
  for (const kind of EVENT_KINDS) {
    expect(PHASE_NAMES.some((phase) => accepts(phase, kind))).toBe(true);
    const after = PHASE_NAMES.filter((phase) => isTerminal(phase) && accepts(phase, kind));
    expect(after).toEqual(kind === "RunRedriven" ? ["Failed"] : []);
  }
  expect(KERNEL.rows.ToolInvoked.in).toEqual(["ExecutingTools"]);
});

test("transition returns the state and its outstanding commands", () => {
  const { state, commands } = transition(newState(), EVENT.started, view());
  expect(state).toMatchObject({ phase: "AwaitingLLM", startedAt: AT, agentVersion: "1" });
  expect(commands).toEqual([{ kind: "askModel" }]);
});

test("another agent version is recorded and changes nothing else", () => {
  const before = IN_PHASE.AwaitingLLM();
  expect(fold(before, eventOf("AgentChanged", "AwaitingLLM"))).toEqual({ ...before, agentVersion: "2" });
});

describe("a reply", () => {
  test("joins the transcript with its own ID, time, source and tokens, its calls numbered", () => {
    const state = stateAfter(
      EVENT.started,
      EVENT.replied([textPart("I look."), callPart("search", { to: "LIS" }), callPart("compare")], AT + 5),
    );
    expect(state.messages.at(-1)).toEqual({
      ...{ id: "m2", at: AT + 5, source: "model:test:m", role: "assistant", tokens: 5 },
      parts: [
        { kind: "text", text: "I look." },
        { kind: "call", call: "c1", tool: "search", args: inline({ to: "LIS" }), provider: null },
        { kind: "call", call: "c2", tool: "compare", args: inline({}), provider: null },
      ],
    });
    expect(state).toMatchObject({ phase: "ExecutingTools", calls: 2 });
    const proposed = {
      status: "proposed",
      intent: null,
      edited: null,
      releasedBy: null,
      attempts: 0,
      timesUnknown: 0,
      reconcilableFrom: null,
      probeAt: null,
      answer: null,
    };
    expect(state.open).toEqual([
      { call: "c1", tool: "search", ...proposed },
      { call: "c2", tool: "compare", ...proposed },
    ]);
  });

  test("with text alone is judged; an empty one, blanks or reasoning alone are no reply", () => {
    expect(stateAfter(EVENT.started, EVENT.replied([textPart("done")])).phase).toBe("Reflecting");
    const thought = { kind: "reasoning", text: "hm", provider: null } as const;
    for (const parts of [[], [textPart(" \n")], [thought]]) {
      const state = stateAfter(EVENT.started, EVENT.replied(parts));
      expect(state.phase).toBe("AwaitingLLM");
      expect(state.messages).toHaveLength(parts.length === 0 ? 1 : 2);
    }
  });

  test("resets the retries; only calls reset the count of nudges", () => {
    const troubled = [
      EVENT.started,
      EVENT.decided({ kind: "nudge", text: "go on" }),
      EVENT.decided({ kind: "retry", at: AT + 9, outage: { since: AT, attempts: 1 } }),
      EVENT.decided({ kind: "retry", at: AT + 99, outage: { since: AT, attempts: 2 } }),
    ];
    expect(stateAfter(...troubled)).toMatchObject({
      modelRetries: 2,
      nudges: 1,
      retryAt: AT + 99,
      phase: "RetryingLLM",
    });
    expect(stateAfter(...troubled, EVENT.replied([textPart("ok")]))).toMatchObject({
      modelRetries: 0,
      nudges: 1,
      retryAt: null,
    });
    expect(stateAfter(...troubled, EVENT.replied([callPart("search")]))).toMatchObject({
      modelRetries: 0,
      nudges: 0,
      retryAt: null,
    });
  });

  test("never reuses the ID of a call", () => {
    const state = stateAfter(
      EVENT.started,
      EVENT.replied([callPart("a"), callPart("b")]),
      EVENT.resulted("c1"),
      EVENT.resulted("c2"),
      EVENT.replied([callPart("c")]),
    );
    expect(state.open.map(({ call }) => call)).toEqual(["c3"]);
  });
});

describe("a nudge", () => {
  test("is a message of cairn itself to the model", () => {
    const state = stateAfter(EVENT.started, {
      ...EVENT.decided({ kind: "nudge", text: "What is missing: a ticket" }),
      at: AT + 3,
    });
    expect(state.messages.at(-1)).toEqual({
      ...{ id: "m2", at: AT + 3, source: "cairn", role: "user", tokens: 0 },
      parts: [{ kind: "text", text: "What is missing: a ticket" }],
    });
    expect(state.nudges).toBe(1);
  });
});

describe("money", () => {
  const debit = (change: object): Event => ({ kind: "BudgetDebited", at: AT, debit: change, for: "test" });

  test("is added up", () => {
    const state = stateAfter(
      EVENT.started,
      debit({ tokensIn: 5, microUsd: 9 }),
      debit({ tokensIn: 1, beats: 1, toolCalls: 2 }),
    );
    expect(state.spent).toEqual({ tokensIn: 6, tokensOut: 0, microUsd: 9, beats: 1, toolCalls: 2 });
  });

  test.each(["tokensIn", "tokensOut", "microUsd", "beats", "toolCalls"])("is never refunded: %s", (meter) => {
    expect(() => stateAfter(EVENT.started, debit({ [meter]: 5 }), debit({ [meter]: -1 }))).toThrow("spent fell");
  });
});

describe("the end", () => {
  test("as completed holds the result", () => {
    expect(IN_PHASE.Completed()).toMatchObject({ phase: "Completed", result: inline("done"), failure: null });
    expect(() => stateAfter(EVENT.started, EVENT.completed)).toThrow("Completed does not follow AwaitingLLM");
  });

  test("as failed is decided first and waits, then stores the failure", () => {
    expect(stateAfter(EVENT.started, EVENT.abortDecided)).toMatchObject({
      phase: "AwaitingLLM",
      ending: { kind: "failed", failure: FAILURE },
      failure: null,
    });
    expect(stateAfter(EVENT.started, EVENT.abortDecided, EVENT.failed)).toMatchObject({
      phase: "Failed",
      ending: null,
      failure: FAILURE,
    });
  });
});

describe("a pause", () => {
  test("stores the phase to return to, and cannot be doubled or left in another way", () => {
    for (const phase of PHASE_NAMES.filter((each) => !isTerminal(each) && !isAside(each))) {
      const state = fold(IN_PHASE[phase](), EVENT.paused);
      expect(state).toMatchObject({ phase: "Paused", pausedFrom: phase });
      expect(fold(state, EVENT.resumed)).toEqual(IN_PHASE[phase]());
      expect(() => fold(state, EVENT.paused)).toThrow("RunPaused does not happen in Paused");
    }
  });

  test("makes a done run continue when a message arrived during it", () => {
    const done = fold(IN_PHASE.Reflecting(), EVENT.paused);
    expect(foldAll(done, [EVENT.messageReceived("one more thing"), EVENT.resumed]).phase).toBe("AwaitingLLM");
    expect(foldAll(IN_PHASE.Reflecting(), [EVENT.messageReceived("one more thing")]).phase).toBe("AwaitingLLM");
  });

  test("lasts while its run ends: an outcome that stays unknown does not end it", () => {
    expect(fold(IN_PHASE.Paused(), EVENT.outcomeLost("c3"))).toMatchObject({
      phase: "Paused",
      pausedFrom: "ExecutingTools",
    });
  });
});

describe("a user message", () => {
  test("follows the transcript with its own source and time, and leaves the calls unchanged", () => {
    const state = IN_PHASE.ExecutingTools();
    const next = fold(state, { ...EVENT.messageReceived("go on"), at: AT + 4 });
    expect(next.messages.at(-1)).toEqual({
      ...{ id: `m${state.messages.length + 1}`, at: AT + 4, source: "user:ada", role: "user", tokens: 0 },
      parts: [{ kind: "text", text: "go on" }],
    });
    expect(next).toMatchObject({ phase: "ExecutingTools", open: state.open, absorbed: ["user#u1"] });
  });
});

describe("a probe", () => {
  const released = stateAfter(
    EVENT.started,
    EVENT.replied([callPart("pay")]),
    EVENT.intended("c1", "probed"),
    EVENT.invoked("c1"),
  );
  const due = (tried: boolean) => fold(released, EVENT.decided({ kind: "probe", call: "c1", at: AT + 9, tried }));

  test("is due at its time, and counts a try only when there was one", () => {
    expect(due(false).open).toMatchObject([{ status: "started", probeAt: AT + 9, attempts: 0 }]);
    expect(due(true).open).toMatchObject([{ attempts: 1 }]);
  });

  test("that found nothing releases the call again with its key; one that cannot decide asks an operator", () => {
    expect(fold(due(false), EVENT.invoked("c1", 3)).open).toMatchObject([
      { status: "started", releasedBy: 3, probeAt: null, intent: { key: "key-c1" } },
    ]);
    expect(fold(due(false), EVENT.outcomeLost("c1", AT + 99))).toMatchObject({
      phase: "AwaitingReconcile",
      open: [{ status: "unknown", probeAt: null, timesUnknown: 1, reconcilableFrom: AT + 99 }],
    });
  });

  test("that found the effect settles the call; no probe settles a call without an intent", () => {
    expect(fold(due(false), EVENT.reconciled("c1", answer("succeeded", "found")))).toMatchObject({ open: [] });
    expect(() => fold(released, EVENT.reconciled("c1", answer("succeeded")))).toThrow(
      "the outcome of call c1 is not in question",
    );
  });
});

test("the text of a message is all of its text parts", () => {
  expect(
    wordsOf([{ kind: "text", text: "a" }, { kind: "reasoning", text: "b", provider: null }, textPart("c") as never]),
  ).toBe("a\nc");
});

test("an event that names a call which is not open is refused", () => {
  const state = stateAfter(EVENT.started, EVENT.replied([callPart("a")]));
  for (const event of [EVENT.intended("c9"), EVENT.invoked("c9"), EVENT.resulted("c9")]) {
    expect(() => fold(state, event)).toThrow("call c9 is not open");
  }
});
