/** Journals in parts: each write adds one and leaves the bytes before it, and the seal of the last one covers them all. */
import { describe, expect, test } from "vitest";
import {
  type JournalSeal,
  appendToJournal,
  decodeJournal,
  encodeJournal,
  isInParts,
  sealOfJournal,
} from "../../src/codec/journal.ts";
import { isGenuine, vouchFor } from "../../src/codec/voucher.ts";
import type { CommitRecord } from "../../src/core/event.ts";
import { sealKeyFrom } from "../support/runs/snapshot-seals.ts";
import { EVENT_KINDS, SHA, eventOf } from "../support/states/states-and-events.ts";

const commits: readonly CommitRecord[] = EVENT_KINDS.slice(0, 4).map((kind, index) => ({
  ...{ version: index + 1, epoch: 2 },
  events: [eventOf(kind, "ExecutingTools")],
}));
const KEY = sealKeyFrom("a");
const of = { run: "acme-a", born: "b", snapshot: { version: 0, key: "k", digest: SHA } };
const seal: JournalSeal = { of, sign: (what, digest) => vouchFor(KEY, what, digest) };

/** The journal after each commit; the first of them has `whole` commits. */
const journals = (options: { readonly whole?: number; readonly seal?: JournalSeal } = {}): readonly Uint8Array[] => {
  const { whole = 1 } = options;
  const first = [appendToJournal(null, commits.slice(0, whole), options)];
  return commits.slice(whole).reduce((all, { version }) => {
    return [...all, appendToJournal(all.at(-1) ?? null, commits.slice(0, version), options)];
  }, first);
};
const last = (all: readonly Uint8Array[]): Uint8Array => all.at(-1) as Uint8Array;
const isSealed = (journal: Uint8Array, where = of): boolean => {
  const found = sealOfJournal({ ...where, journal });
  return found !== null && isGenuine(KEY, "journal", found);
};

test.each([1, 2, 4])("a journal in parts, the first with %i commits, is read as it was committed", (whole) => {
  const all = journals({ whole });
  all.forEach((journal, index) => {
    expect(decodeJournal(journal)).toEqual(commits.slice(0, whole + index));
    expect(isInParts(journal)).toBe(true);
    const before = all[index - 1] ?? new Uint8Array();
    expect(Buffer.from(journal.subarray(0, before.byteLength)).equals(before)).toBe(true);
  });
  expect(all).toHaveLength(5 - whole);
});

test("a whole journal is not in parts, and becomes the first part when a commit is added", () => {
  const whole = encodeJournal(commits.slice(0, 3));
  expect(isInParts(whole)).toBe(false);
  const longer = appendToJournal(whole, commits);
  expect(isInParts(longer)).toBe(true);
  expect(decodeJournal(longer)).toEqual(commits);
});

test("a journal cut at any byte is unreadable, or ends with a whole part", () => {
  const all = journals();
  const ends = new Set(all.map(({ byteLength }) => byteLength));
  for (let bytes = 2; bytes < last(all).byteLength; bytes += 1) {
    const cut = last(all).subarray(0, bytes);
    if (ends.has(bytes)) expect(decodeJournal(cut)).toEqual(commits.slice(0, decodeJournal(cut).length));
    else expect(() => decodeJournal(cut)).toThrow(expect.objectContaining({ name: "Unreadable" }));
  }
  expect(() => decodeJournal(last(all).subarray(0, -1))).toThrow("the journal ends within a part");
});

describe("is not returned when a broken function of the language made it:", () => {
  const own = Reflect.get(Buffer, "from") as (...given: readonly unknown[]) => Buffer;
  const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
  test.each([
    ["map, which drops all", Array.prototype, "map", () => []],
    ["map, which drops the last one", Array.prototype, "map", dropsLast],
    ["join", Array.prototype, "join", () => ""],
    ["Object.entries", Object, "entries", () => []],
    ["toSorted, which reverses", Array.prototype, "toSorted", reversed],
    ["JSON.stringify", JSON, "stringify", () => "{}"],
    ["Buffer.from, which cuts", Buffer, "from", (...given: readonly unknown[]) => own(...given).subarray(1)],
    ["writeUInt32BE", Buffer.prototype, "writeUInt32BE", () => 4],
    ["set", typedArray, "set", () => undefined],
  ] as const)("%s", (_, holder, name, broken) => {
    for (const options of [{}, { seal }]) {
      const before = appendToJournal(null, commits.slice(0, 1), options);
      // Texts of events are kept with them, so each try has events of its own.
      const next = structuredClone(commits.slice(0, 2));
      const whole = Reflect.get(holder, name) as unknown;
      let made: unknown;
      Reflect.set(holder, name, broken);
      try {
        made = appendToJournal(before, next, options);
      } catch (error) {
        made = error;
      } finally {
        Reflect.set(holder, name, whole);
      }
      expect(made).toBeInstanceOf(TypeError);
    }
  });
});

function dropsLast(this: readonly unknown[], change: (each: unknown) => unknown): unknown[] {
  const made: unknown[] = [];
  for (let index = 0; index < this.length - 1; index += 1) made.push(change(this[index]));
  return made;
}

function reversed(this: readonly unknown[]): unknown[] {
  const made: unknown[] = [];
  for (let index = this.length - 1; index >= 0; index -= 1) made.push(this[index]);
  return made;
}

test("a whole journal is returned whatever its events contain", () => {
  const tricky: readonly CommitRecord[] = [1, 2].map((version) => ({
    ...{ version, epoch: 2 },
    events: [
      {
        kind: "MessageAbsorbed",
        at: 1,
        stage: "taken",
        message: "user#1",
        body: { kind: "user", text: '"kind":"X","version":9}]', by: '"version":1' },
      },
    ],
  }));
  expect(decodeJournal(appendToJournal(encodeJournal(tricky.slice(0, 1)), tricky))).toEqual(tricky);
});

describe("the keyed seal of a journal in parts", () => {
  test("is that of its last part, for this run and this snapshot", () => {
    const all = journals({ seal });
    expect(all.map((journal) => isSealed(journal))).toEqual([true, true, true, true]);
    expect(isSealed(last(all), { ...of, born: "c" })).toBe(false);
    expect(isSealed(last(all), { ...of, snapshot: { ...of.snapshot, digest: `${SHA}0` } })).toBe(false);
    expect(sealOfJournal({ ...of, journal: last(journals()) })).toBeNull();
  });

  test("covers the parts before it", () => {
    const all = journals({ seal });
    const [first = new Uint8Array(), second = new Uint8Array()] = all;
    const lastPart = last(all).subarray(all[2]?.byteLength);
    // Without the second part, and with a forged first one that has a part's bytes.
    expect(isSealed(Buffer.concat([first, lastPart]))).toBe(false);
    const forged = appendToJournal(null, commits.slice(1, 2));
    const rest = last(all).subarray(second.byteLength);
    expect(isSealed(Buffer.concat([forged, last(all).subarray(first.byteLength)]))).toBe(false);
    expect(decodeJournal(Buffer.concat([forged, rest])).length).toBe(3);
  });
});
