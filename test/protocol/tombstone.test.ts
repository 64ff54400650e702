/** What a tombstone says, which one of two stands, and what a creation is told of it. */
import { describe, expect, test } from "vitest";
import { type Row, newRow } from "../../src/protocol/row.ts";
import { decideCreate } from "../../src/protocol/row-removal.ts";
import { type Tombstone, endIn, isKept, newerTombstone, tombstoneOf } from "../../src/protocol/tombstone.ts";

const HOUR_MS = 3_600_000;
const NOW = 1_700_000_000_000;
const CREATION = {
  ...{ run: `local-${"a".repeat(26)}`, born: "aaaaaaaaaa", now: NOW, deadline: NOW, parent: null, tenant: "local" },
  ...{ agent: "a", agentVersion: "1", inputDigest: "d", snapshot: { version: 0, key: "k", digest: "d" } },
};
const ROW: Row = { ...newRow(CREATION), epoch: 3 };
const END = { status: "completed", at: NOW } as const;
const TOMBSTONE = tombstoneOf(ROW, { ...END, keptMs: 48 * HOUR_MS, expiresAtSec: (NOW + HOUR_MS) / 1_000 });

describe("a tombstone", () => {
  test("contains run, input, end and epoch, and until when the key is kept", () => {
    expect(TOMBSTONE).toEqual({
      ...{ run: ROW.run, born: ROW.born, agent: "a", inputDigest: "d", status: "completed", endedAt: NOW, epoch: 3 },
      expiresAtSec: (NOW + 48 * HOUR_MS) / 1_000,
    });
    expect([isKept(TOMBSTONE, NOW + 48 * HOUR_MS - 1), isKept(TOMBSTONE, NOW + 48 * HOUR_MS)]).toEqual([true, false]);
  });

  test("is never removed before its row, however long the agent keeps that", () => {
    const expiresAtSec = (NOW + 90 * 24 * HOUR_MS) / 1_000;
    expect(tombstoneOf(ROW, { ...END, keptMs: 48 * HOUR_MS, expiresAtSec })).toMatchObject({ expiresAtSec });
  });

  test("is not made of a live run", () => {
    expect(endIn(ROW)).toBeNull();
    expect(endIn({ ...ROW, status: "failed", statusSince: 7 })).toEqual({ status: "failed", at: 7 });
  });
});

describe("of two tombstones", () => {
  const over = (change: Partial<Tombstone>): boolean =>
    newerTombstone(TOMBSTONE, { ...TOMBSTONE, ...change, status: "failed" }) !== TOMBSTONE;

  test("that of the later epoch is kept, and of one epoch the later one", () => {
    expect([over({ epoch: 4, endedAt: 0 }), over({ epoch: 2, endedAt: NOW + 1 })]).toEqual([true, false]);
    expect([over({ endedAt: NOW }), over({ endedAt: NOW - 1 })]).toEqual([true, false]);
  });

  test("that of another incarnation replaces the present one", () => {
    expect({
      over: over({ born: "bbbbbbbbbb", epoch: 0, endedAt: 0 }),
      newer: newerTombstone(null, TOMBSTONE),
    }).toEqual({
      over: true,
      newer: TOMBSTONE,
    });
  });
});

describe("a creation", () => {
  const expired: Row = { ...ROW, status: "completed", endNotified: true, expiresAtSec: NOW / 1_000 };

  test("returns the end when the row has expired or is removed and the key is kept", () => {
    for (const row of [null, expired]) {
      expect(decideCreate(row, TOMBSTONE, CREATION)).toEqual({ kind: "ended", tombstone: TOMBSTONE });
      expect(decideCreate(row, { ...TOMBSTONE, expiresAtSec: NOW / 1_000 }, CREATION)).toMatchObject({
        kind: "created",
        over: row,
      });
      expect(decideCreate(row, null, CREATION)).toMatchObject({ kind: "created", over: row });
    }
  });

  test("returns the run as long as its row exists, whatever a tombstone contains", () => {
    expect(decideCreate(ROW, TOMBSTONE, CREATION)).toEqual({ kind: "exists", row: ROW });
    expect(decideCreate(ROW, TOMBSTONE, { ...CREATION, inputDigest: "x" })).toEqual({ kind: "conflict", row: ROW });
    expect(decideCreate(ROW, TOMBSTONE, { ...CREATION, agent: "other" })).toEqual({ kind: "conflict", row: ROW });
  });
});
