/** The codec of snapshots and journals reads what it wrote, and refuses anything else with a reason. */
import { fold } from "../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import { canonical, compress, decompress, sha256 } from "../../src/codec/canonical.ts";
import { LEVEL } from "../../src/core/levels.ts";
import { decodeJournal, encodeJournal } from "../../src/codec/journal.ts";
import { type SchemaCheck, StateTooLarge, decodeSnapshot } from "../../src/codec/snapshot.ts";
import { type Seal, encodeSnapshot, wholeState } from "../../src/codec/snapshot.ts";
import type { CommitRecord, Event } from "../../src/core/event.ts";
import type { Json } from "../../src/core/json.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { FEW_BYTES } from "../../src/ports/stored-sizes.ts";
import { inline } from "../../src/core/message.ts";
import { PHASE_NAMES } from "../../src/core/phases.ts";
import { FORMAT, type SnapshotPointer } from "../../src/protocol/row.ts";
import type { State } from "../../src/core/state.ts";
import {
  EVENT_KINDS,
  IN_PHASE,
  SHA,
  stateAfter,
  answer,
  callPart,
  eventOf,
  EVENT,
  newState,
  textPart,
} from "../support/states/states-and-events.ts";

const previous: SnapshotPointer = { version: 3, key: "before", digest: SHA };
const commits: readonly CommitRecord[] = [{ version: 4, epoch: 2, events: [EVENT.started] }];
const seal: Seal = { sealed: { from: 1, to: 2, key: "events", digest: SHA, bytes: 9 }, unsealed: 2 };

function written(state: State): { readonly pointer: SnapshotPointer; readonly bytes: Uint8Array } {
  const { digest, bytes } = encodeSnapshot({ version: 4, previous, seal, commits, state, ...FEW_BYTES });
  return { pointer: { version: 4, key: "here", digest }, bytes };
}

/** A document with changed content, and a pointer with its new digest. */
function forged(change: (document: Record<string, unknown>) => unknown, schema?: SchemaCheck): () => unknown {
  const { bytes } = written(newState());
  const document = JSON.parse(decompress(bytes, { what: "it", bytesMax: 1e6 }).toString("utf8")) as Record<
    string,
    unknown
  >;
  const text = canonical(change(document));
  return () => decodeSnapshot({ version: 4, key: "here", digest: sha256(text) }, compress(text), schema);
}

const nothing = (): never => {
  throw new Error("no segment is named");
};

describe("a snapshot", () => {
  test.each(PHASE_NAMES)("reads back as it was written for a state in %s", (phase) => {
    const state = IN_PHASE[phase]();
    const { pointer, bytes } = written(state);
    const { state: stored, ...rest } = decodeSnapshot(pointer, bytes);
    expect(wholeState(stored, nothing)).toEqual(state);
    expect(rest).toEqual({ format: FORMAT, authorLevel: LEVEL, version: 4, previous, ...seal, commits });
  });

  test("of a process of this level is taken as it is, if the caller says so; any other is checked", () => {
    const changed = (document: Record<string, unknown>): object => ({ ...document, unsealed: "two" });
    expect(forged(changed, "unlessOwn")).not.toThrow();
    expect(forged(changed)).toThrow("unsealed");
    expect(forged((document) => ({ ...changed(document), authorLevel: LEVEL - 1 }), "unlessOwn")).toThrow("unsealed");
    expect(forged(({ authorLevel: _, ...document }) => changed(document), "unlessOwn")).toThrow("unsealed");
    expect(forged((document) => ({ ...document, format: 99 }), "unlessOwn")).toThrow("format 99");
  });

  test("has equal bytes and digest for equal states", () => {
    const state = IN_PHASE.ExecutingTools();
    expect(written(structuredClone(state))).toEqual(written(state));
  });

  test("is refused with DigestMismatch when its pointer has another digest", () => {
    const { pointer, bytes } = written(newState());
    const other = written(IN_PHASE.AwaitingLLM());
    const mismatch = expect.objectContaining({ name: "Unreadable", code: "DigestMismatch" });
    expect(() => decodeSnapshot({ ...pointer, digest: SHA }, bytes)).toThrow(mismatch);
    expect(() => decodeSnapshot(pointer, other.bytes)).toThrow(mismatch);
  });

  test("is refused when its format is unknown, with both versions and what to do", () => {
    const unknown = expect.objectContaining({ name: "Unreadable", code: "UnknownFormat" });
    const newer = forged((document) => ({ ...document, format: FORMAT + 1 }));
    expect(newer).toThrow(unknown);
    expect(newer).toThrow("snapshot here has format 3, this cairn reads format 2: use the version that wrote it");
    expect(forged(({ format: _, ...document }) => document)).toThrow(unknown);
  });

  test.each([
    ["an unknown phase", { phase: "Dreaming" }],
    ["a negative time", { startedAt: -1 }],
    ["a missing field", { spent: undefined }],
    ["a call with an unknown status", { open: [{ ...IN_PHASE.ExecutingTools().open[0], status: "lost" }] }],
  ])("with %s is refused with the path of the problem", (_, change) => {
    const broken = forged((document) => ({ ...document, state: { ...(document["state"] as object), ...change } }));
    expect(broken).toThrow(expect.objectContaining({ name: "Unreadable" }));
    expect(broken).toThrow(`state.${Object.keys(change)[0] ?? ""}`);
  });

  test("is refused when its transcript has a gap", () => {
    const state = stateAfter(EVENT.started, EVENT.replied([textPart("one")]));
    const { pointer, bytes } = written({ ...state, messages: state.messages.slice(1) });
    expect(() => wholeState(decodeSnapshot(pointer, bytes).state, nothing)).toThrow("a gap at message 1");
  });
});

describe("a state that is too large", () => {
  /** The task is the one unbounded part of the state that segments do not hold. */
  const large = { ...IN_PHASE.AwaitingLLM(), task: inline("x".repeat(SIZES.stateBytesMax)) };

  test("is refused with its size", () => {
    expect(() => written(large)).toThrow(StateTooLarge);
    expect(() => written(large)).toThrow(/^the state has 13\d{4} bytes, 131072 are allowed$/);
    expect(() => written(large)).toThrow(expect.objectContaining({ code: "StateTooLarge" }));
  });

  test("is measured in bytes, with its tail and without its segments", () => {
    const fits = { ...large, task: inline("ä".repeat(SIZES.stateBytesMax / 2 - 600)) };
    expect(() => written(fits)).not.toThrow();
    expect(() => written({ ...fits, task: inline("ä".repeat(SIZES.stateBytesMax / 2)) })).toThrow(StateTooLarge);
    const long = Array.from({ length: 90 }, (_, index) => [
      EVENT.replied([callPart("look", "x".repeat(900))]),
      EVENT.resulted(`c${index + 1}`),
    ]);
    expect(() => written(stateAfter(EVENT.started, ...long.flat()))).not.toThrow();
  });

  test("is written nevertheless when its end is decided, so that every run can end", () => {
    const ending = fold(large, EVENT.abortDecided);
    expect(() => written(ending)).not.toThrow();
    expect(() => written({ ...large, ...IN_PHASE.Failed(), task: large.task })).not.toThrow();
  });
});

describe("a journal", () => {
  const events: readonly Event[] = [
    ...EVENT_KINDS.map((kind) => eventOf(kind, "ExecutingTools")),
    EVENT.decided({ kind: "retry", at: 5, outage: { since: 1, attempts: 1 } }),
    EVENT.decided({ kind: "nudge", text: "" }),
    EVENT.decided({ kind: "again", call: "c1" }),
    EVENT.decided({ kind: "takeover", from: "A", takeovers: 1 }),
    { kind: "MessageAbsorbed", at: 1, stage: "cleared", message: "m" },
    {
      kind: "RunEnded",
      at: 1,
      status: "completed",
      result: { kind: "blob", sha256: SHA, bytes: 9, head: "a", tail: "b" },
    },
    EVENT.replied([{ kind: "reasoning", text: "hm", provider: { signature: "x" } }]),
    { kind: "ToolOutcomeUnknown", at: 1, call: "c1", why: "", reconcilableFrom: null },
  ];

  test.each(events.map((event) => [event.kind, event] as const))("returns %s unchanged", (_, event) => {
    const journal = [{ version: 1, epoch: 2, events: [event] }];
    expect(decodeJournal(encodeJournal(journal))).toEqual(journal);
  });

  test("returns commits in order, and none for an absent journal", () => {
    const journal = events.map((event, index) => ({ version: index + 1, epoch: 1, events: [event, event] }));
    expect(decodeJournal(encodeJournal(journal))).toEqual(journal);
    expect(decodeJournal(null)).toEqual([]);
  });

  test("keeps empty texts of operators and checks: all that may be written can be read", () => {
    const journal = [
      {
        ...{ version: 1, epoch: 1 },
        events: [
          { kind: "CheckFailed", at: 1, check: "", why: "" },
          EVENT.answerTaken("c1", 1, { ...answer("retry"), by: "" }),
        ] as Event[],
      },
    ];
    expect(decodeJournal(encodeJournal(journal))).toEqual(journal);
  });

  test.each<readonly [string, Json]>([
    ["an unknown event", [{ version: 1, epoch: 1, events: [{ kind: "Dreamt", at: 1 }] }]],
    ["an event without its time", [{ version: 1, epoch: 1, events: [{ kind: "RunStarted", agentVersion: "1" }] }]],
    [
      "a negative debit",
      [{ version: 1, epoch: 1, events: [{ kind: "BudgetDebited", at: 1, debit: { beats: -1 }, for: "" }] }],
    ],
    ["no list", { version: 1 }],
  ])("with %s is unreadable", (_, journal) => {
    expect(() => decodeJournal(compress(canonical(journal)))).toThrow(expect.objectContaining({ name: "Unreadable" }));
  });

  test("is unreadable when its bytes are damaged, whatever they decompress to", () => {
    expect(() => decodeJournal(new Uint8Array([9, 9]))).toThrow(expect.objectContaining({ name: "Unreadable" }));
    expect(() => decodeJournal(compress("[{"))).toThrow(expect.objectContaining({ name: "Unreadable" }));
    const whole = encodeJournal(commits);
    for (let index = 0; index < whole.length; index += 1) {
      const damaged = whole.map((byte, at) => (at === index ? byte ^ 0x10 : byte));
      try {
        decodeJournal(damaged);
      } catch (error) {
        expect(error).toMatchObject({ name: "Unreadable" });
      }
    }
  });
});

test("a text that a broken function of the language made is not returned", () => {
  const map = Reflect.get(Array.prototype, "map");
  const write = (some: readonly CommitRecord[]): unknown => {
    Reflect.set(Array.prototype, "map", () => []);
    try {
      return encodeSnapshot({ version: 4, previous, seal, commits: some, state: newState(), ...FEW_BYTES });
    } catch (error) {
      return error;
    } finally {
      Reflect.set(Array.prototype, "map", map);
    }
  };
  // Its commits are looked at by themselves, and so is the text around them.
  for (const some of [commits, []]) expect(write(some)).toBeInstanceOf(TypeError);
});
