/** Orphans are found once a day by the keys of all objects, and removed only when that is certainly safe. */
import { describe, expect, test } from "vitest";
import { memoryObjectStore, memoryStore } from "../../src/adapters/memory/tables.ts";
import { TIMES } from "../../src/protocol/limits.ts";
import type { TelemetryRecord, World } from "../../src/ports/world.ts";
import { incarnationOf, prefixUnder, snapshotKey } from "../../src/history/object-keys.ts";
import { collectAllOrphans, collectOrphans } from "../../src/maintenance/orphans.ts";
import { purge } from "../../src/operations/purge.ts";
import { startRun } from "../../src/operations/start.ts";
import { killableWorld } from "../support/harness/drive.ts";
import { endedRun, loadObjects, largeResultAgent } from "../support/runs/leftover-objects.ts";
import { type Harness, createHarness } from "../support/harness/harness.ts";

const keysOf = ({ world }: Harness): readonly string[] => [...world.store.objects.keys()];
const DAY_MS = TIMES.orphanAgeMs;

function pass({ clock }: Harness, ms: number): void {
  clock.moveTo(clock.now() + ms);
}

/** A start whose process dies after snapshot 0 and before its row. */
async function dieBeforeRow(harness: Harness, key: string): Promise<void> {
  const { world, kill } = killableWorld(harness.world);
  const table = { ...world.table };
  const reached = new Promise<void>((resolve) => {
    table.create = () => {
      kill();
      resolve();
      return new Promise(() => undefined);
    };
  });
  void startRun({ ...world, table }, { agent: largeResultAgent, input: {}, tenant: "local", idempotencyKey: key });
  await reached;
}

/** Puts one object of an incarnation that has no row. */
const orphan = (harness: Harness, letter: string) =>
  harness.world.objects.put(`runs/local/local-${letter.repeat(26)}/bbbbbbbbbb/snapshots/0`, Uint8Array.of(1));

const runAt = (index: number): string =>
  `local-${"a".repeat(23)}${String.fromCodePoint(97 + Math.floor(index / 26))}${String.fromCodePoint(97 + (index % 26))}a`;

async function putObjects({ world }: Harness, run: string, count: number): Promise<void> {
  const prefix = prefixUnder({ run, born: "bbbbbbbbbb" });
  for (let index = 0; index < count; index += 1)
    await world.objects.put(`${prefix}segments/${index}`, Uint8Array.of(1));
}

/** The world of a harness, which counts the pages of keys that it is asked for. */
function countingPages({ world }: Harness) {
  let pages = 0;
  const objects = { ...world.objects };
  objects.keysAfter = (after, limit) => {
    pages += 1;
    return world.objects.keysAfter(after, limit);
  };
  return { world: { ...world, objects }, pages: () => pages };
}

describe("orphans", () => {
  test("of a start that died before its row are removed after a day and not before", async () => {
    const harness = createHarness();
    const row = await endedRun(harness, "key");
    harness.world.store.rows.set(row.run, { ...row, expiresAtSec: null });
    const kept = keysOf(harness);
    await dieBeforeRow(harness, "another");
    expect(keysOf(harness).length).toBeGreaterThan(kept.length);
    pass(harness, DAY_MS);
    expect(await collectOrphans(harness.world, null)).toBeNull();
    expect(keysOf(harness).length).toBeGreaterThan(kept.length);
    pass(harness, 1);
    expect(await collectOrphans(harness.world, null)).toBeNull();
    expect(keysOf(harness)).toEqual(kept);
    await loadObjects(harness, harness.row(row.run));
    // The idempotency key was never used, so a repeated start succeeds.
    const again = { agent: largeResultAgent, input: {}, tenant: "local", idempotencyKey: "another" };
    expect(await startRun(harness.world, again)).toMatchObject({ kind: "started" });
  });

  test("are never objects of a run that has a row, expired or not, nor of its present incarnation", async () => {
    const harness = createHarness();
    const row = await endedRun(harness, "key");
    const before = keysOf(harness);
    await harness.world.objects.put(`${prefixUnder({ ...row, born: "zzzzzzzzzz" })}snapshots/0`, Uint8Array.of(1));
    pass(harness, harness.world.limits.retentionMs + DAY_MS);
    expect(await harness.world.table.read(row.run, harness.clock.now())).toBeNull();
    await collectOrphans(harness.world, null);
    expect(keysOf(harness)).toEqual(before);
    harness.world.store.expire(harness.clock.now());
    await collectOrphans(harness.world, null);
    expect(keysOf(harness)).toEqual([]);
  });

  test("of a process that froze, lost its run, and wrote a snapshot after the purge are found the next day", async () => {
    const harness = createHarness();
    const row = await endedRun(harness, "key");
    expect(await purge(harness.world, row.run)).toMatchObject({ kind: "purged" });
    await harness.world.objects.put(snapshotKey(row, { version: row.version, epoch: 1, put: 9 }), Uint8Array.of(1));
    pass(harness, DAY_MS + 1);
    await collectOrphans(harness.world, null);
    expect(keysOf(harness)).toEqual([]);
  });

  test("are left alone, with an alarm, when the rows belong to another store", async () => {
    const harness = createHarness();
    const records: TelemetryRecord[] = [];
    const elsewhere = memoryStore("another store");
    const objects = memoryObjectStore(elsewhere, harness.clock);
    const telemetry = { record: (record: TelemetryRecord) => void records.push(record) };
    const world: World = { ...harness.world, objects, telemetry };
    await orphan({ ...harness, world: { ...harness.world, objects } }, "a");
    pass(harness, 2 * DAY_MS);
    expect(await collectOrphans(world, null)).toBeNull();
    expect(elsewhere.objects.size).toBe(1);
    expect(records).toMatchObject([{ level: "alarm", what: "StoresDiffer", run: "" }]);
    expect(await collectOrphans({ ...world, table: { ...world.table, storeId: objects.storeId } }, null)).toBeNull();
    expect(elsewhere.objects.size).toBe(0);
  });
});

describe("the search for orphans", () => {
  test("examines a bounded number of keys per call, steps over the rest of an incarnation, and continues from its cursor", async () => {
    const harness = createHarness();
    // 300 incarnations with three objects each, and one with more objects than two pages.
    for (let index = 0; index < 300; index += 1) await putObjects(harness, runAt(index), 3);
    await putObjects(harness, `local-${"b".repeat(26)}`, 2_500);
    const row = await endedRun(harness, "key");
    harness.world.store.rows.set(row.run, { ...row, expiresAtSec: null });
    pass(harness, 2 * DAY_MS);
    const { world, pages } = countingPages(harness);
    const removed: string[] = [];
    world.objects.removeUnder = async (prefix) => void removed.push(prefix);
    let [calls, after] = [0, null as string | null];
    do {
      after = await collectOrphans(world, after);
      calls += 1;
    } while (after !== null);
    expect(new Set(removed).size).toBe(301);
    expect(removed).toHaveLength(301);
    // The second page begins behind the large incarnation, and shows the end.
    expect({ calls, pages: pages() }).toEqual({ calls: 2, pages: 2 });
  });

  test("goes on where the last invocation ended, and begins a new pass only a day after the last one ended", async () => {
    const harness = createHarness();
    for (let index = 0; index < 670; index += 1) await putObjects(harness, runAt(index), 3);
    pass(harness, 2 * DAY_MS);
    const { world, pages } = countingPages(harness);
    const left: number[] = [];
    const inOnePage = async (): Promise<void> => {
      const drain = new AbortController();
      drain.abort();
      await collectAllOrphans(world, { deadline: harness.clock.now() + 120_000, drain: drain.signal });
      left.push(keysOf(harness).length);
    };
    for (let invocation = 0; invocation < 5; invocation += 1) await inOnePage();
    // The third key of the last incarnation of a page is on the next one, and is removed with it.
    expect(left).toEqual([1_008, 6, 0, 0, 0]);
    expect(pages()).toBe(4);
    pass(harness, DAY_MS);
    await inOnePage();
    expect(pages()).toBe(5);
  });

  test("skips foreign keys and hostile keys, and leaves their objects", async () => {
    const harness = createHarness();
    const run = `local-${"a".repeat(26)}`;
    const strange = [
      "aaa",
      "runs/local/readme",
      "runs/local/nobody/bbbbbbbbbb/snapshots/0",
      `runs/other/${run}/bbbbbbbbbb/snapshots/0`,
      "runz/x",
      "zzz",
    ];
    for (const key of strange) await harness.world.objects.put(key, Uint8Array.of(1));
    const row = await endedRun(harness, "key");
    harness.world.store.rows.set(row.run, { ...row, expiresAtSec: null });
    // Sorts after every character in cairn's keys.
    const behind = ["~", "~~", "\u{FF5E}", "\u{1F9ED}"].map((name) => `${prefixUnder(row)}${name}`);
    for (const key of behind) await harness.world.objects.put(key, Uint8Array.of(1));
    const before = keysOf(harness).length;
    await orphan(harness, "z");
    pass(harness, 2 * DAY_MS);
    expect(await collectOrphans(harness.world, null)).toBeNull();
    expect(keysOf(harness)).toHaveLength(before);
  });

  test("derives the incarnation from a key", () => {
    const of = { run: `t1-${"a".repeat(26)}`, born: "bbbbbbbbbb" };
    expect(incarnationOf(`${prefixUnder(of)}snapshots/0`)).toEqual(of);
    expect(incarnationOf(`runs/t2/${of.run}/${of.born}/snapshots/0`)).toBeNull();
    expect(incarnationOf(`runs/t1/${of.run}/${of.born}`)).toBeNull();
    expect(incarnationOf("archive/t1")).toBeNull();
  });
});
