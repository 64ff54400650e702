/** Calls that were agreed and did not begin: who may say so, and what the state keeps of them. */
import { nextCommands, foldAll } from "../../src/features/compose.ts";
import { expect, test } from "vitest";
import type { Action, Event } from "../../src/core/event.ts";
import { InvariantViolated } from "../../src/core/ensure.ts";
import { isMissedTooOften, wasDebited } from "../../src/core/calls/postponed.ts";
import { effectsThatStand } from "../../src/features/saga/core-standing.ts";
import type { OpenCall, State } from "../../src/core/state.ts";
import { mayHaveActed } from "../../src/core/calls/held-calls.ts";
import { AT, FAILURE, answer, callPart, stateAfter, view, EVENT } from "../support/states/states-and-events.ts";

type Postpone = Extract<Action, { readonly kind: "postpone" }>;

const postponed = (after: Postpone["after"], more: Partial<Postpone> = {}, call = "c1"): Event =>
  EVENT.decided({ kind: "postpone", call, after, ...more });

const proposed = stateAfter(EVENT.started, EVENT.replied([callPart("a"), callPart("b")]));
const intent = foldAll(proposed, [EVENT.intended("c1", "probed"), EVENT.intended("c2", "probed")]);
const released = foldAll(intent, [EVENT.invoked("c1", 1)]);
const probing = foldAll(released, [EVENT.decided({ kind: "probe", call: "c1", at: AT, tried: false })]);
const first = (state: State): OpenCall => state.open[0] as OpenCall;

test.each<[Postpone["after"], State, Partial<OpenCall>]>([
  ["intent", intent, { status: "proposed", releasedBy: null, postponed: { missed: 0 } }],
  ["release", released, { status: "permitted", releasedBy: null, postponed: { missed: 0, released: true } }],
  ["retry", released, { status: "started", releasedBy: 1, postponed: { missed: 0, released: true } }],
  [
    "probe",
    probing,
    { status: "permitted", probeAt: null, postponed: { missed: 0, released: true, begunBefore: true } },
  ],
])("a call that is postponed after its %s keeps its intent and its key", (after, state, kept) => {
  expect(first(foldAll(state, [postponed(after)]))).toMatchObject({ ...kept, intent: first(state).intent });
});

test.each<[string, Postpone["after"], State]>([
  ["was released", "intent", released],
  ["was not released", "release", intent],
  ["is to be probed", "release", probing],
  ["is to be probed", "retry", probing],
  ["was not released", "probe", intent],
  ["has no intent", "intent", proposed],
])("a call that %s is not postponed after its %s", (_, after, state) => {
  expect(() => foldAll(state, [postponed(after)])).toThrow(InvariantViolated);
});

test("beats that could not start a call are counted until an attempt of it ends or a human permits it again", () => {
  const missed = postponed("release", { missed: true });
  const again = [missed, EVENT.invoked("c1", 2)];
  const twice = foldAll(released, [...again, missed]);
  expect(first(twice).postponed?.missed).toBe(2);
  expect([first(foldAll(released, [missed])), first(twice)].map(isMissedTooOften)).toEqual([false, true]);
  const asked = foldAll(twice, [{ ...EVENT.outcomeLost("c1", AT), unbegun: true } as Event]);
  expect(first(asked)).toMatchObject({ status: "unknown", unbegun: expect.any(String) });
  expect(asked.phase).toBe("ExecutingTools");
  const permitted = foldAll(asked, [EVENT.reconciled("c1", answer("retry"))]);
  expect(first(permitted)).toMatchObject({ status: "permitted", postponed: { missed: 0, released: true } });
  expect(first(permitted).unbegun).toBeUndefined();
  const attempt = EVENT.decided({ kind: "again", call: "c1" });
  expect(first(foldAll(released, [...again, attempt])).postponed).toBeUndefined();
});

test("a call that could not be started did not happen, so it is neither undone nor counted as an effect", () => {
  const marked: Event = { ...EVENT.intended("c1", "keyed"), undo: true } as Event;
  const asked = foldAll(proposed, [
    marked,
    EVENT.invoked("c1", 1),
    postponed("release"),
    { ...EVENT.outcomeLost("c1", AT), unbegun: true } as Event,
    EVENT.decided({ kind: "abort", failure: FAILURE }),
  ]);
  expect(mayHaveActed(first(asked))).toBe(false);
  const last = { ...EVENT.outcomeLost("c1", AT), unbegun: true } as Event;
  const without = foldAll(released, [postponed("release"), last]);
  const { standing } = effectsThatStand(without, () => ({ effect: "keyed", isUndone: false }));
  expect(standing).toEqual([]);
  const undone = foldAll(asked, [EVENT.decided({ kind: "compensate" })]);
  expect(undone.undo ?? []).toEqual([]);
  const results = undone.messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "result"));
  expect(results[0]).toMatchObject({ outcome: "failed", value: { json: expect.stringMatching(/^NotStarted/) } });
});

test("a postponed call gets its room before a probe of another call takes it", () => {
  const both = foldAll(intent, [
    EVENT.invoked("c1", 1),
    EVENT.invoked("c2", 1),
    EVENT.decided({ kind: "probe", call: "c2", at: AT, tried: false }),
  ]);
  const kinds = (state: State): readonly string[] =>
    nextCommands(state, view({ now: AT + 1_000, epoch: 2 })).map(({ kind }) => kind);
  expect(kinds(foldAll(both, [postponed("release")]))).toEqual(["intend", "probe"]);
  const again = foldAll(both, [postponed("release"), EVENT.invoked("c1", 2)]);
  expect(kinds(again)).toEqual(["perform", "probe"]);
});

test("a release is debited once, however often the call is postponed", () => {
  const states = [intent, foldAll(intent, [postponed("intent")]), foldAll(released, [postponed("release")])];
  expect(states.map((state) => wasDebited(first(state)))).toEqual([false, false, true]);
});
