/** The laws of sagas over random valid runs. */
import { nextCommands, fold, foldAll } from "../../src/features/compose.ts";
import { nextCompensationStep } from "../../src/core/policy/ending.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Event } from "../../src/core/event.ts";
import { argsOf } from "../../src/core/calls/ledger.ts";
import { visibleMessages } from "../../src/core/policy/window.ts";
import { type Walk, walksFrom } from "../support/walks/random-walks.ts";
import { AT, callPart, newState, view, EVENT } from "../support/states/states-and-events.ts";

const undoable = (call: string): Event => ({ ...EVENT.intended(call), undo: true }) as Event;

/** A failed run with two effects, one possible effect, and one call that never started. */
const FAILED = foldAll(newState(), [
  EVENT.started,
  EVENT.replied([callPart("a"), callPart("b"), callPart("c"), callPart("d")]),
  ...["c1", "c2", "c3"].flatMap((call) => [undoable(call), EVENT.invoked(call)]),
  ...[
    EVENT.resulted("c2"),
    EVENT.messageReceived("not on a Friday", "1"),
    EVENT.resulted("c1"),
    EVENT.outcomeLost("c3", AT + 60),
    EVENT.abortDecided,
  ],
]);

function holds(law: (walk: Walk) => void, numRuns = 300): void {
  fc.assert(fc.property(walksFrom(FAILED), law), { numRuns });
}

test("effects are undone newest first, one at a time, and none twice", () => {
  let seen = 0;
  holds(({ strides, commits }) => {
    const undone = commits.flatMap(({ events }) => events.filter(({ kind }) => kind === "ToolCompensated"));
    expect(new Set(undone.map((event) => ("call" in event ? event.call : ""))).size).toBe(undone.length);
    for (const { before, event, outcome } of strides) {
      if (event.kind !== "ToolCompensated") continue;
      seen += 1;
      const open = before.open.find(({ call }) => call === event.call);
      expect(open?.undoes).toBe(before.undo?.at(-1)?.call);
      expect(before.open).toHaveLength(1);
      expect(outcome.state.undo).toEqual(before.undo?.slice(0, -1));
      expect(argsOf(before, event.call)).toEqual(argsOf(before, open?.undoes ?? ""));
    }
  });
  expect(seen).toBeGreaterThan(100);
});

test("a run that has effects to undo neither ends nor restarts before that", () => {
  const seen = { ended: 0, restarted: 0 };
  holds(({ strides }) => {
    for (const { before, event } of strides) {
      if (event.kind === "RunEnded") seen.ended += 1;
      if (event.kind === "RunEnded") expect(nextCompensationStep(before)).toBeNull();
      if (event.kind !== "RecoveryDecided" || event.action.kind !== "restart") continue;
      seen.restarted += 1;
      expect(before.undo ?? []).toEqual([]);
      expect(before.open).toEqual([]);
    }
  }, 500);
  expect(seen.ended).toBeGreaterThan(100);
  expect(seen.restarted).toBeGreaterThan(5);
});

test("a restarted run's model sees its task and the user messages, and nothing else of the attempt before", () => {
  let seen = 0;
  holds(({ strides }) => {
    for (const { before, event, outcome } of strides) {
      if (event.kind !== "RecoveryDecided" || event.action.kind !== "restart") continue;
      seen += 1;
      const { state } = outcome;
      expect(state.restart).toBe(before.restart + 1);
      expect(state.messages.slice(0, -1)).toEqual(before.messages);
      const [task, ...rest] = visibleMessages(state);
      expect(task).toBe(state.messages[0]);
      expect(rest.slice(0, -1).every(({ source }) => source.startsWith("user:"))).toBe(true);
      expect(rest.at(-1)).toBe(state.messages.at(-1));
    }
  });
  expect(seen).toBeGreaterThan(5);
});

test("an effect that may still land is not undone before it has settled", () => {
  let waited = 0;
  holds(({ strides }) => {
    for (const { outcome, view } of strides) {
      const from = outcome.state.undo?.at(-1)?.from ?? 0;
      const early = view.now < from && nextCompensationStep(outcome.state) === "undo";
      if (early) waited += 1;
      if (early) expect(outcome.commands.map(({ kind }) => kind)).not.toContain("undo");
    }
  });
  expect(waited).toBeGreaterThan(20);
});

test("a call that never started is settled as such, and one that may have happened is undone like one that did", () => {
  const begun = fold(FAILED, { kind: "RecoveryDecided", at: AT, rule: "r", why: "w", action: { kind: "compensate" } });
  expect(begun.undo).toEqual([
    { call: "c2", key: "key-c2", from: null },
    { call: "c1", key: "key-c1", from: null },
    { call: "c3", key: "key-c3", from: AT + 60 },
  ]);
  expect(begun).toMatchObject({ phase: "ExecutingTools", open: [], saga: { leftInPlace: [] } });
  const outcomes = begun.messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "result"));
  expect(outcomes.map(({ call, outcome }) => ({ call, outcome }))).toEqual([
    { call: "c2", outcome: "succeeded" },
    { call: "c1", outcome: "succeeded" },
    { call: "c3", outcome: "unknown" },
    { call: "c4", outcome: "failed" },
  ]);
});

test("a run that is paused before it begins to undo waits until it is resumed, because its agent may be missing", () => {
  const aside = foldAll(FAILED, [EVENT.holdDecided(null), EVENT.paused]);
  expect(nextCommands(aside, view({ pause: true }))).toEqual([{ kind: "awaitAnswer" }]);
  expect(nextCommands(aside, view())).toEqual([{ kind: "resume" }]);
});
