/** What an access reads of the file of a store, by how many runs are in it. */
import { mkdtempSync, rmSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeLargeStore } from "../../../bench/large-store.ts";
import { type Store, openStore } from "../../../src/adapters/local/store/database.ts";
import { inspectStore } from "../../../src/adapters/local/inspection.ts";
import { removalsOf } from "../../../src/adapters/local/store/removals.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { resolveRun } from "../../../src/cli/commands/runs.ts";
import { scriptedAgent } from "../../support/harness/harness.ts";
import { startRun } from "../../../src/operations/start.ts";
import { listGates } from "../../../src/operations/approvals.ts";
import { ANY_RUN, listRuns } from "../../../src/operations/list.ts";
import type { World } from "../../../src/ports/world.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { cleanUp } from "../../../src/history/clean-up.ts";
import { StatementSync } from "node:sqlite";

const METHODS = ["run", "get", "all"] as const;

interface Statements {
  readonly statements: number;
  /** Commits while the connection waits for the disk at each of them. */
  readonly syncs: number;
}

/** Statements prepared before count too: the methods are replaced for the time of the access. */
async function countStatements({ rows }: Store, access: () => Promise<void>): Promise<Statements> {
  const counted = { statements: 0, syncs: 0 };
  const originals = METHODS.map((name) => [name, StatementSync.prototype[name]] as const);
  const exec = rows.exec.bind(rows);
  let waits = rows.prepare("PRAGMA synchronous").get()?.["synchronous"] === 2;
  for (const [name, original] of originals) {
    const count = function (this: StatementSync, ...given: never[]): unknown {
      counted.statements += 1;
      return Reflect.apply(original, this, given);
    };
    Reflect.set(StatementSync.prototype, name, count);
  }
  rows.exec = (sql) => {
    counted.statements += 1;
    if (sql.startsWith("PRAGMA synchronous")) waits = sql.includes("FULL");
    if (sql === "COMMIT" && waits) counted.syncs += 1;
    exec(sql);
  };
  try {
    await access();
  } finally {
    for (const [name, original] of originals) Reflect.set(StatementSync.prototype, name, original);
    Reflect.deleteProperty(rows, "exec");
  }
  return counted;
}

/** What two reads of the counter itself add. */
const OWN_BYTES_MAX = 1_024;

/** The bytes that `access` read. SQLite reads each page that it has not in memory, so a new connection shows what an access needs. */
async function bytesRead(access: () => unknown): Promise<number> {
  const before = counter();
  await access();
  return Math.max(0, counter() - before - OWN_BYTES_MAX);
}

function counter(): number {
  const [, bytes] = /^rchar: (\d+)$/m.exec(readFileSync("/proc/thread-self/io", "utf8")) ?? [];
  if (bytes === undefined) throw new Error("this system counts no bytes of a thread");
  return Number(bytes);
}

const SIZES = [100, 1_000, 10_000] as const;
const TENANT = "default";
const ALL = {
  ...ANY_RUN,
  ...{ tenant: TENANT, limit: 20, after: null },
} as const;

const root = mkdtempSync(join(tmpdir(), "cairn-large-"));
const dirOf = (size: number): string => join(root, String(size));
const made = new Map<number, Awaited<ReturnType<typeof makeLargeStore>>>();

beforeAll(async () => {
  for (const size of SIZES)
    made.set(size, await makeLargeStore(dirOf(size), { ended: size, waiting: 3, removed: size / 2 }));
  for (const size of SIZES) await addFamily(dirOf(size));
}, LIMITS.sceneMs);
afterAll(() => rmSync(root, { recursive: true, force: true }));

const FAMILY = { parent: `${TENANT}-${"b".repeat(26)}`, key: "order-17" };

/** Adds a run with a key, and a child of another one. */
async function addFamily(dir: string): Promise<void> {
  const store = openStore({ dir, create: false, check: "worker" });
  const world = withKernel(localWorld({ store, limits: limitsFor(60_000), telemetry: { record: () => undefined } }));
  const of = { agent: scriptedAgent({}), input: {}, tenant: TENANT };
  const parent = { run: FAMILY.parent, born: "a" };
  const begun = [
    await startRun(world, { ...of, idempotencyKey: FAMILY.key }),
    await startRun(world, { ...of, idempotencyKey: null, parent }),
  ];
  store.close();
  expect(begun.map(({ kind }) => kind)).toEqual(["started", "started"]);
}

/** The bytes that an access reads in a new connection, for each size. */
async function readIn(access: (on: { store: Store; world: World; size: number }) => unknown): Promise<number[]> {
  const bytes: number[] = [];
  for (const size of SIZES) {
    const store = openStore({ dir: dirOf(size), create: false, check: "worker" });
    const world = withKernel(localWorld({ store, limits: limitsFor(60_000), telemetry: { record: () => undefined } }));
    bytes.push(await bytesRead(() => access({ store, world, size })));
    store.close();
  }
  return bytes;
}

/** A tree of pages has one or two levels more for ten times as many entries. */
function expectSteady([, atThousand = 0, atMost = Infinity]: readonly number[], most: number): void {
  expect(atMost).toBeLessThan(most);
  expect(atMost).toBeLessThan(1.5 * atThousand + 16 * 1_024);
}

describe("the bytes that are read do not grow with the runs of the store", () => {
  test("for the runs of an agent that has few, in any status or in one", async () => {
    const found = new Set<number>();
    const read = await readIn(async ({ world }) => {
      const { runs, more } = await listRuns(world, { ...ALL, agent: "rare", status: null });
      found.add(runs.length);
      expect(more).toBe(false);
    });
    expect([...found]).toEqual([1]);
    expectSteady(read, 64 * 1_024);
    expectSteady(
      await readIn(({ world }) => listRuns(world, { ...ALL, agent: "rare", status: "completed" })),
      64 * 1_024,
    );
  });

  test("for the newest runs of an agent that has most of them", async () => {
    expectSteady(await readIn(({ world }) => listRuns(world, { ...ALL, agent: "teller" })), 256 * 1_024);
  });

  test("for the run that a prefix means", async () => {
    const read = await readIn(async ({ world, size }) => {
      const run = made.get(size)?.ended ?? "";
      const text = run.slice(0, -14);
      expect(await resolveRun(world, { text, command: (...words) => words.join(" ") })).toBe(run);
    });
    expectSteady(read, 64 * 1_024);
  });

  test("for the runs under a key, in any status or in one, and for those of a parent", async () => {
    for (const of of [{ key: "order-" }, { key: "order-17", status: "queued" }, { parent: FAMILY.parent }] as const) {
      const read = await readIn(async ({ world }) => {
        const { runs, more } = await listRuns(world, { ...ALL, ...of });
        expect({ runs: runs.length, more }).toEqual({ runs: 1, more: false });
      });
      expectSteady(read, 64 * 1_024);
    }
  });

  test("for the runs that ask a human", async () => {
    const read = await readIn(async ({ world }) => {
      const { gates } = await listGates(world, { tenant: TENANT, after: null, bytesMax: null });
      expect(gates).toHaveLength(1);
    });
    expectSteady(read, 128 * 1_024);
  });
});

test("the doctor reads the rows of the runs that have not ended, unless it is to read the whole store", async () => {
  const largest = openStore({ dir: dirOf(10_000), create: false, check: "worker" });
  largest.rows.exec("UPDATE runs SET row = 'damaged' WHERE run = (SELECT run FROM runs WHERE alive = 0 LIMIT 1)");
  largest.rows.prepare("INSERT INTO objects VALUES ('x', zeroblob(?), 0)").run(129 * 1024 * 1024);
  largest.close();
  const [, , read = Infinity] = await readIn(({ store }) => {
    const { damaged, isWhole } = inspectStore(store, { overdueBefore: 0 });
    expect(isWhole ? null : damaged).toEqual(store.dir === dirOf(10_000) ? [] : null);
  });
  expect(read).toBeLessThan(256 * 1024);
  const [, , whole] = await readIn(({ store, size }) => {
    if (size < 10_000) return;
    expect(inspectStore(store, { overdueBefore: 0, whole: true })).toMatchObject({ isWhole: true, damaged: [{}] });
  });
  expect(whole).toBeGreaterThan(1024 * 1024);
});

test("a page of keys that thousands of runs have reads no row of those that are not on it", async () => {
  const store = openStore({ dir: dirOf(10_000), create: false, check: "worker" });
  store.rows.exec("UPDATE runs SET startKey = 'bulk-' || run WHERE startKey IS NULL");
  store.close();
  const [, , read = Infinity] = await readIn(async ({ world, size }) => {
    if (size < 10_000) return;
    const query = { tenant: TENANT, status: null, limit: 20, after: null, now: Date.now() };
    const page = await world.table.list({ ...query, only: { keyBegins: "bulk-" } });
    // One row of this store is damaged.
    expect({ rows: page.rows.length + page.damaged.length, next: page.next }).toEqual({
      rows: 20,
      next: expect.any(String),
    });
  });
  expect(read).toBeLessThan(384 * 1_024);
});

test("the clean-up of a removed run reads as much, however many others wait for theirs", async () => {
  const read = await readIn(({ store }) => {
    const removals = removalsOf(store);
    const due = removals.due(Date.now(), 1);
    expect(due).toHaveLength(1);
    removals.finish(due);
  });
  expectSteady(read, 64 * 1_024);
});

test("the clean-ups of one task wait for no disk, and take at most 25 statements a run", async () => {
  const store = openStore({ dir: dirOf(1_000), create: false, check: "worker" });
  const world = withKernel(localWorld({ store, limits: limitsFor(60_000), telemetry: { record: () => undefined } }));
  const removals = removalsOf(store);
  const due = removals.due(Date.now(), 50);
  expect(due).toHaveLength(50);
  const { statements, syncs } = await countStatements(store, async () => {
    for (const each of due) await cleanUp(world, each);
    removals.finish(due);
  });
  expect(syncs).toBe(0);
  expect(statements / due.length).toBeLessThanOrEqual(25);
  expect(removals.due(Date.now(), 1_000).some(({ run }) => run === due[0]?.run)).toBe(false);
  store.close();
});

test("a beat writes one page and none of an index, and a change of status at most nine", async () => {
  const store = openStore({ dir: dirOf(1_000), create: false, check: "worker" });
  const pagesWritten = (sql: string): number => {
    store.rows.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    store.rows.exec(sql);
    const found = store.rows.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
    return Number(found?.["log"]);
  };
  const run = made.get(1_000)?.ended ?? "";
  const beat = pagesWritten(
    `UPDATE runs SET row = replace(row, '"takeovers":0', '"takeovers":1') WHERE run = '${run}'`,
  );
  const move = pagesWritten(
    `UPDATE runs SET status = 'failed', statusSince = statusSince + 60000 WHERE run = '${run}'`,
  );
  store.close();
  expect(beat).toBe(1);
  // The table, and two pages for each of four indexes: the old place and the new one.
  expect(move).toBeLessThanOrEqual(9);
});
