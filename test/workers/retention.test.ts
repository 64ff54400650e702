/** Retention in the embedded store: expiry, announced removals, archives and file size. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { sqliteChain } from "../../src/adapters/local/chain.ts";
import { systemClock } from "../../src/adapters/local/clock.ts";
import type { Store } from "../../src/adapters/local/store/database.ts";
import { drivenStore } from "../../src/adapters/local/store/driven-store.ts";
import { createBacklog } from "../../src/workers/backlog.ts";
import { retentionWork } from "../../src/workers/retention.ts";
import type { Pool } from "../../src/workers/workers.ts";
import { sqliteObjectStore } from "../../src/adapters/local/store/object-store.ts";
import { removalsOf } from "../../src/adapters/local/store/removals.ts";
import { sqliteRunTable } from "../../src/adapters/local/store/run-table.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { END_NOTIFICATION } from "../../src/protocol/row-end-notification.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";
import { executionName } from "../../src/protocol/ids.ts";
import { archiveKey, snapshotKey } from "../../src/history/object-keys.ts";
import { BORN, NOW, RUN, claim, commit, creation, open, temporaryStore } from "../process/fixtures/store.ts";
import { ENDED, row } from "../process/fixtures/table.ts";

const runOf = (letter: string): string => `local-${letter.repeat(26)}`;

/** A run that expires this many milliseconds after `NOW`. */
async function ended(store: Store, letter: string, afterMs: number): Promise<void> {
  const run = runOf(letter);
  const table = sqliteRunTable(store);
  await table.create(creation({ run }));
  const granted = row(await table.decide(claim({ run }), CLAIM), "granted");
  row(await table.decide(commit(granted, ENDED), COMMIT), "committed");
  row(
    await table.decide({ run, born: BORN, now: NOW, expiresAtSec: (NOW + afterMs) / 1_000 }, END_NOTIFICATION),
    "notified",
  );
}

describe("expiry", () => {
  it("removes no row that has expired by only one clock", async () => {
    const store = temporaryStore();
    await ended(store, "a", 60_000);
    let earliest = NOW + 59_999;
    const clock = { ...systemClock, now: () => NOW + 40 * 24 * 3_600_000, earliest: () => earliest };
    const nothing = (): void => undefined;
    const rows = (): number => store.rows.prepare("SELECT run FROM runs").all().length;
    const look = (): void =>
      retentionWork(
        { store: drivenStore(store), clock, onEvent: nothing, onProgress: nothing },
        { pool: {} as Pool, backlog: createBacklog({ clock, onPause: nothing, onBack: nothing }) },
      ).expire();
    look();
    expect(rows()).toBe(1);
    earliest += 1;
    look();
    expect(rows()).toBe(0);
  });

  it("removes a bounded number of rows, earliest expiry first, and announces each", async () => {
    const store = temporaryStore();
    const removals = removalsOf(store);
    for (const [letter, after] of [
      ["c", 3_000],
      ["a", 1_000],
      ["b", 2_000],
      ["d", 9_000],
    ] as const) {
      await ended(store, letter, after);
    }
    expect(removals.expire(NOW + 999, 2)).toBe(false);
    expect(removals.due(NOW, 9)).toEqual([]);
    expect(removals.expire(NOW + 5_000, 2)).toBe(true);
    const told = () =>
      store.rows
        .prepare("SELECT run FROM removed ORDER BY run")
        .all()
        .map(({ run }) => run);
    expect(told()).toEqual([runOf("a"), runOf("b")]);
    expect(removals.expire(NOW + 5_000, 2)).toBe(false);
    expect(told()).toEqual([runOf("a"), runOf("b"), runOf("c")]);
    expect(await sqliteRunTable(store).read(runOf("d"), NOW)).toMatchObject({ run: runOf("d") });
  });

  it("is announced until its clean-up succeeds, and removes the executions of the incarnation", async () => {
    const store = temporaryStore();
    const removals = removalsOf(store);
    const chain = sqliteChain(store, systemClock);
    const next = "bbbbbbbbbb";
    for (const [born, number] of [
      [BORN, 1],
      [BORN, 12],
      [next, 1],
    ] as const) {
      await chain.start(executionName(RUN, born, number), { run: RUN, born, chain: number, epoch: 0, agent: "clerk" });
    }
    for (const letter of ["a", "b"]) await ended(store, letter, 1_000);
    removals.expire(NOW + 1_000, 9);
    const [first = { run: "", born: "" }] = removals.due(NOW + 1_000, 1);
    expect(first).toEqual({ run: runOf("a"), born: BORN });
    expect(removals.due(NOW + 1_000, 9)).toHaveLength(2);
    removals.postpone(first, NOW + 5_000);
    expect(removals.due(NOW + 1_000, 9)).toEqual([{ run: runOf("b"), born: BORN }]);
    removals.finish([{ run: runOf("b"), born: BORN }]);
    expect(removals.due(NOW + 4_999, 9)).toEqual([]);
    // Another process sees it, too.
    expect(removalsOf(open(store.dir)).due(NOW + 5_000, 9)).toEqual([first]);
    removals.finish([first]);
    removals.finish([first]);
    expect(removals.due(NOW + 5_000, 9)).toEqual([]);
    const names = store.rows
      .prepare("SELECT name FROM executions")
      .all()
      .map(({ name }) => name);
    expect(names).toEqual([executionName(RUN, next, 1)]);
  });
});

describe("keys", () => {
  it("outlive their rows, and are removed in bounded numbers after their own expiry", async () => {
    const store = temporaryStore();
    const table = sqliteRunTable(store);
    const removals = removalsOf(store);
    await ended(store, "a", 1_000);
    for (const [letter, after] of [
      ["a", 5_000],
      ["b", 2_000],
      ["c", 3_000],
      ["d", 9_000],
    ] as const) {
      const end = { status: "completed", endedAt: NOW, epoch: 1, expiresAtSec: (NOW + after) / 1_000 } as const;
      await table.keepKey({ run: runOf(letter), born: BORN, agent: "travel", inputDigest: "digest", ...end });
    }
    const kept = () =>
      store.rows
        .prepare("SELECT run FROM tombstones ORDER BY run")
        .all()
        .map(({ run }) => run);
    expect(removals.expire(NOW + 1_000, 2)).toBe(false);
    expect(removals.due(NOW + 1_000, 9)).toMatchObject([{ run: runOf("a") }]);
    expect(kept()).toEqual(["a", "b", "c", "d"].map(runOf));
    expect(removals.expire(NOW + 5_000, 2)).toBe(true);
    expect(kept()).toEqual([runOf("a"), runOf("d")]);
    expect(removals.expire(NOW + 5_000, 2)).toBe(false);
    expect(kept()).toEqual([runOf("d")]);
  });
});

describe("archives", () => {
  it("are removed one by one after the days of their tier, and no other object is", async () => {
    const store = temporaryStore();
    const day = 24 * 3_600_000;
    const put = async (key: string, putAt: number): Promise<unknown> =>
      sqliteObjectStore(store, { ...systemClock, now: () => putAt }).put(key, new Uint8Array(9));
    const [run, other] = [
      { run: runOf("a"), born: BORN },
      { run: runOf("b"), born: BORN },
    ];
    for (let index = 0; index < 45; index += 1) await put(`archive/warm/local/${index}`, NOW - 90 * day);
    await put(archiveKey(run, "warm"), NOW - 90 * day);
    await put(archiveKey(run, "cold"), NOW - 90 * day);
    await put(archiveKey(other, "warm"), NOW - 90 * day + 1);
    await put(snapshotKey(run, { version: 0, epoch: 0, put: 1 }), 0);
    const keys = () =>
      store.rows
        .prepare("SELECT key FROM objects ORDER BY key")
        .all()
        .map(({ key }) => key);
    removalsOf(store).expireArchives(NOW);
    const left = [archiveKey(run, "cold"), archiveKey(other, "warm"), expect.stringContaining("/snapshots/")];
    expect(keys()).toEqual(left);
    removalsOf(store).expireArchives(NOW + (2_557 - 90) * day);
    expect(keys()).toEqual([expect.stringContaining("/snapshots/")]);
  });
});

const fileBytes = (dir: string): number => statSync(join(dir, "cairn.sqlite")).size;

/** Puts about that many megabytes under a prefix. */
async function fill(store: Store, prefix: string, megabytes: number): Promise<void> {
  const objects = sqliteObjectStore(store);
  for (let index = 0; index < megabytes * 4; index += 1) {
    await objects.put(`${prefix}${index}`, new Uint8Array(256 * 1024).fill(index));
  }
  store.rows.exec("PRAGMA wal_checkpoint(TRUNCATE)");
}

describe("the file", () => {
  it("shrinks by the removed size, wherever in the file that was", async () => {
    const store = temporaryStore();
    const objects = sqliteObjectStore(store);
    const empty = fileBytes(store.dir);
    await fill(store, "runs/a/", 8);
    await fill(store, "runs/b/", 2);
    const full = fileBytes(store.dir);
    await objects.removeUnder("runs/a/");
    const left = fileBytes(store.dir);
    expect(full - empty).toBeGreaterThan(10 * 1024 * 1024);
    // The remaining data, and a megabyte for new data.
    expect(left).toBeLessThan(empty + 4 * 1024 * 1024);
    expect(await objects.get("runs/b/0")).toHaveLength(256 * 1024);
    await objects.removeUnder("runs/b/");
    expect(fileBytes(store.dir)).toBeLessThan(empty + 2 * 1024 * 1024);
    expect(store.rows.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  });

  it("shrinks once a reader is through", async () => {
    const store = temporaryStore();
    await fill(store, "runs/a/", 4);
    const full = fileBytes(store.dir);
    const reader = new DatabaseSync(join(store.dir, "cairn.sqlite"), { readOnly: true });
    onTestFinished(() => reader.close());
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM objects").get();
    const removed = sqliteObjectStore(store).removeUnder("runs/a/");
    // Everything of it up to its first pause has run: the log could not be written back.
    expect(fileBytes(store.dir)).toBe(full);
    reader.exec("COMMIT");
    await removed;
    expect(fileBytes(store.dir)).toBeLessThan(full / 2);
  });

  it("shrinks although another process wrote meanwhile", async () => {
    const store = temporaryStore();
    await fill(store, "runs/a/", 4);
    const full = fileBytes(store.dir);
    const prepare = store.rows.prepare.bind(store.rows);
    let attempts = 0;
    const spy = vi.spyOn(store.rows, "prepare").mockImplementation((text) => {
      const statement = prepare(text);
      if (!text.includes("wal_checkpoint")) return statement;
      const writeBack = statement.get.bind(statement);
      // At first SQLite reports all as written back, and the file is as long as before.
      statement.get = () => (attempts++ === 0 ? { busy: 0, log: 9, checkpointed: 9 } : writeBack());
      return statement;
    });
    onTestFinished(() => spy.mockRestore());
    await sqliteObjectStore(store).removeUnder("runs/a/");
    expect(attempts).toBe(2);
    expect(fileBytes(store.dir)).toBeLessThan(full / 2);
  });
});
