/** The doctor's inspection of an embedded store, on real files. */
import { closeSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../../src/adapters/local/store/database.ts";
import { executionsOf } from "../../../src/adapters/local/store/executions.ts";
import { inspectStore } from "../../../src/adapters/local/inspection.ts";
import { sqliteObjectStore } from "../../../src/adapters/local/store/object-store.ts";
import { StoreDamaged } from "../../../src/adapters/local/store/store-errors.ts";
import { sqliteRunTable } from "../../../src/adapters/local/store/run-table.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { memoryOf } from "../../../src/features/memory/stored.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { BORN, NOW, RUN, creation, open, temporaryDir, temporaryStore } from "../../process/fixtures/store.ts";

const fileOf = (dir: string): string => join(dir, "cairn.sqlite");

test("an empty store is intact and writable", () => {
  const store = temporaryStore();
  expect(inspectStore(store, { overdueBefore: NOW })).toMatchObject({
    ...{ dir: store.dir, id: store.id, journalMode: "wal", refuses: null, faults: [] },
    ...{ runs: { live: 0, overdue: 0 }, latestAt: 0 },
  });
});

test("counts live runs and overdue runs", async () => {
  const store = temporaryStore();
  await sqliteRunTable(store).create(creation());
  executionsOf(store).start({
    name: "one",
    payload: { run: RUN, born: BORN, chain: 1, epoch: 0, agent: "clerk" },
    now: NOW,
  });
  expect(inspectStore(store, { overdueBefore: NOW }).runs).toEqual({ live: 1, overdue: 0 });
  expect(inspectStore(store, { overdueBefore: NOW + 1 })).toMatchObject({
    runs: { live: 1, overdue: 1 },
    latestAt: NOW,
  });
});

test("names memories that are nearly full, the fullest first, without what was forgotten or has expired", async () => {
  const store = temporaryStore();
  const world = withKernel(localWorld({ store, limits: limitsFor(60_000), telemetry: { record: () => {} } }));
  const fill = async (tenant: string, scope: string, count: number) => {
    const memory = memoryOf(world, { tenant, scope });
    for (let n = 0; n < count; n += 1) await memory.put({ id: `e${n}`, text: `fact ${n}` });
    return memory;
  };
  await fill("local", "near", 450);
  await fill("acme", "full", 451);
  const below = await fill("local", "below", 450);
  await below.forget("e0");
  expect(inspectStore(store, { overdueBefore: NOW }).memories).toEqual([
    { tenant: "acme", scope: "full", entries: 451 },
    { tenant: "local", scope: "near", entries: 450 },
  ]);
});

test("the latest time in the store may be that of an object", async () => {
  const store = temporaryStore();
  await sqliteRunTable(store).create(creation());
  const before = Date.now();
  await sqliteObjectStore(store).put("runs/x", Buffer.from("x"));
  expect(inspectStore(store, { overdueBefore: NOW }).latestAt).toBeGreaterThanOrEqual(before);
});

test("a store that is not writable says why", () => {
  const store = temporaryStore();
  const rows = new DatabaseSync(fileOf(store.dir), { readOnly: true });
  onTestFinished(() => rows.close());
  expect(inspectStore({ ...store, rows }, { overdueBefore: NOW }).refuses).toMatch(/read-only/);
});

test("the inspection changes nothing and closes the store", () => {
  const dir = temporaryDir();
  const first = open(dir);
  first.close();
  const before = readFileSync(fileOf(dir));
  const store = open(dir);
  inspectStore(store, { overdueBefore: NOW });
  expect(store.rows.isTransaction).toBe(false);
  store.close();
  expect(readFileSync(fileOf(dir)).equals(before)).toBe(true);
});

test("a damaged page is found", async () => {
  const dir = temporaryDir();
  const first = open(dir);
  for (let letter = 0; letter < 26; letter += 1) {
    const run = `local-${String.fromCodePoint(97 + letter).repeat(26)}`;
    await sqliteRunTable(first).create(creation({ run }));
  }
  const { rootpage } = first.rows.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'runsByStatus'").get() as {
    rootpage: number;
  };
  first.close();
  const pageBytes = 1_024;
  expect(statSync(fileOf(dir)).size).toBeGreaterThanOrEqual(rootpage * pageBytes);
  const file = openSync(fileOf(dir), "r+");
  writeSync(file, Buffer.alloc(pageBytes, 0x5a), 0, pageBytes, (rootpage - 1) * pageBytes);
  closeSync(file);
  expect(() => open(dir)).toThrow(StoreDamaged);
  const unchecked = openStore({ dir, create: false, check: "none" });
  onTestFinished(() => unchecked.close());
  const { faults, refuses } = inspectStore(unchecked, { overdueBefore: NOW });
  expect(faults).not.toEqual([]);
  expect(refuses).toBeNull();
});
