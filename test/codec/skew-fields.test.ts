/**
 * Two versions of cairn with one format: this version keeps fields that a newer one added to any object, in every state
 * and at every event, through the codec and back.
 */
import { accepts, fold } from "../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import { FEW_BYTES } from "../../src/ports/stored-sizes.ts";
import { decodeRow } from "../../src/codec/row.ts";
import { decodeJournal, encodeJournal } from "../../src/codec/journal.ts";
import { decodeSnapshot, encodeSnapshot, encodeCommits, wholeState } from "../../src/codec/snapshot.ts";
import { decodeSealed, encodeSealed } from "../../src/codec/sealed.ts";
import { decodeSegment, encodeSegment } from "../../src/codec/transcript.ts";
import type { Event, EventKind } from "../../src/core/event.ts";
import { type Level, LEVEL, LEVELS, LOWEST_LEVEL, levelIn, neededLevel } from "../../src/core/levels.ts";
import { switchModel, retryLater, retrySoon } from "../../src/core/policy/outage.ts";
import { PHASE_NAMES, type Phase } from "../../src/core/phases.ts";
import type { State } from "../../src/core/state.ts";
import { CHILD_MOMENTS } from "../golden/children.ts";
import { DETACHED_CALL_MOMENTS } from "../golden/detached-calls.ts";
import { WAIT_MOMENTS } from "../golden/waits.ts";
import { DECISION_MOMENTS } from "../golden/decisions.ts";
import { OUTAGE_MOMENTS } from "../golden/outages.ts";
import { SAGA_MOMENTS } from "../golden/sagas.ts";
import { EVENT_KINDS, IN_PHASE, eventOf, row, withCalls } from "../support/states/states-and-events.ts";
import { withChildren } from "../support/states/child-events.ts";
import { withWait } from "../support/states/wait-events.ts";
import {
  UNKNOWN_FIELD,
  withUnknownFields,
  withoutUnknownFields,
  lostFields,
} from "../support/states/unknown-fields.ts";

interface Moment {
  readonly moment: string;
  readonly state: State;
  readonly events: readonly Event[];
}

/** Events that need children in the state, or a call that waits. Their run does not end before. */
const isOfChild = (kind: EventKind): boolean =>
  /^Child(Started|Superseded|Continued|Resumed|AskedToStop|NeverMade)$/.test(kind);
const isOfDetached = (kind: EventKind): boolean => kind === "DetachedCallSubmitted" || kind === "DetachedCallEnded";
const isOfWait = (kind: EventKind): boolean => kind === "InputRefused" || kind === "ToolResultRecorded";

const kindsIn = (phase: Phase, when: (kind: EventKind) => boolean): readonly Event[] =>
  EVENT_KINDS.filter(
    (kind) => accepts(phase, kind) && when(kind) && !(kind === "RunEnded" && phase === "AwaitingChildren"),
  ).map((kind) => eventOf(kind, phase));

const MOMENTS: readonly Moment[] = [
  ...PHASE_NAMES.map((phase) => ({
    moment: phase,
    state: IN_PHASE[phase](),
    events: kindsIn(phase, (kind) => !isOfChild(kind) && !isOfWait(kind) && !isOfDetached(kind)),
  })),
  ...PHASE_NAMES.filter((phase) => phase !== "AwaitingChildren").map((phase) => ({
    moment: `${phase} with children`,
    state: withChildren(IN_PHASE[phase]()),
    events: kindsIn(phase, isOfChild),
  })),
  ...PHASE_NAMES.map((phase) => ({
    moment: `${phase} with a call that waits`,
    state: withWait(IN_PHASE[phase]()),
    events: kindsIn(phase, isOfWait),
  })),
  ...[...CHILD_MOMENTS, ...WAIT_MOMENTS, ...DETACHED_CALL_MOMENTS],
  ...[...SAGA_MOMENTS, ...DECISION_MOMENTS, ...OUTAGE_MOMENTS],
];

/** Objects that the event replaces: no field of the old object remains. */
const REPLACED = /^\.ending$/;

describe.each(MOMENTS)("in $moment", ({ state, events }) => {
  test("each event keeps unknown fields and otherwise has the same effect", () => {
    const known = withUnknownFields(state);
    for (const event of events) {
      const next = fold(known, withUnknownFields(event));
      expect({ kind: event.kind, lostFields: lostFields(known, next).filter((path) => !REPLACED.test(path)) }).toEqual({
        kind: event.kind,
        lostFields: [],
      });
      expect({ kind: event.kind, state: withoutUnknownFields(next) }).toEqual({
        kind: event.kind,
        state: fold(state, event),
      });
    }
  });

  test("snapshot, segments, journal and sealed events read back as they were written", () => {
    const given = withUnknownFields(state);
    const commits = withUnknownFields([{ version: 1, epoch: 1, events }]);
    const sealed = withUnknownFields({ from: 1, to: 2, key: "sealed/2", digest: "0".repeat(64), bytes: 9 });
    const previous = withUnknownFields({ version: 0, key: "s0", digest: "0".repeat(64) });
    const encoded = encodeSnapshot({
      version: 1,
      previous,
      seal: { sealed, unsealed: 1 },
      commits,
      state: given,
      ...FEW_BYTES,
    });
    const snapshot = decodeSnapshot({ version: 1, key: "s1", digest: encoded.digest }, encoded.bytes);
    expect({ ...snapshot, state: null }).toMatchObject({ commits, sealed, previous });
    const segments = new Map(encoded.segments.map((each) => [each.ref.sha256, encodeSegment(each)]));
    const segmentOf = (ref: (typeof encoded.segments)[number]["ref"]) =>
      decodeSegment(ref, segments.get(ref.sha256) as Uint8Array);
    expect(wholeState(snapshot.state, segmentOf)).toEqual(given);
    expect(decodeJournal(encodeJournal(commits))).toEqual(commits);
    const object = encodeSealed({ from: 1, to: 1, previous: sealed, commits: [encodeCommits(commits)] });
    expect(decodeSealed({ ...object.ref, key: "sealed/1" }, object.bytes)).toMatchObject({ previous: sealed, commits });
  });
});

test("the fixture writes an unknown field into every object", () => {
  const calls = withUnknownFields(withCalls());
  expect(calls).toMatchObject({ future: UNKNOWN_FIELD, spent: { future: UNKNOWN_FIELD }, open: expect.any(Array) });
  expect(lostFields(calls, { ...calls, spent: { ...withCalls().spent } })).toEqual([".spent"]);
});

test("the next model call in an outage keeps unknown fields", () => {
  const [outage, terms] = [
    withUnknownFields({ since: 1, attempts: 2 }),
    { afterMs: null, chance: 0.5, outageMaxMs: 9e9, models: 2, asked: 0 },
  ];
  const state = { ...IN_PHASE.RetryingLLM(), outage };
  const tries = [retrySoon(state, terms, 9), switchModel(state, terms, 9), retryLater(state, terms, 9)];
  expect(tries.map((each) => each.outage)).toEqual([
    { ...outage, attempts: 3 },
    { ...outage, attempts: 3, model: 1 },
    { ...outage, attempts: 3 },
  ]);
});

test("a row keeps unknown fields", () => {
  const written = withUnknownFields(row());
  expect(decodeRow(written, written.run)).toEqual(written);
});

describe("levels", () => {
  test("are in the table in order, each once, and this code knows the newest", () => {
    expect(LEVELS.map(({ level }) => level)).toEqual(LEVELS.map((_, index) => LOWEST_LEVEL + index));
    expect(LEVEL).toBe(LEVELS.length);
  });

  test("a commit needs the level of the newest feature that it writes", () => {
    const goals: Level = { level: 2, adds: "goals", isUsedBy: ({ state }) => "goals" in state };
    const votes: Level = { level: 3, adds: "votes", isUsedBy: ({ events }) => events.some(({ at }) => at === 3) };
    const levels = [...LEVELS, goals, votes];
    const [state, event] = [IN_PHASE.Preparing(), eventOf("RunStarted", "Preparing")];
    expect(neededLevel({ state, events: [event] }, levels)).toBe(1);
    expect(neededLevel({ state: { ...state, goals: [] } as State, events: [event] }, levels)).toBe(2);
    expect(neededLevel({ state, events: [{ ...event, at: 3 }] }, levels)).toBe(3);
    expect([levelIn({}), levelIn({ level: 4 })]).toEqual([LOWEST_LEVEL, 4]);
  });
});
