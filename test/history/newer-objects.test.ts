/** What objects that are newer than the row of a restored run know: which are read, and which are left out. */
import { expect, test } from "vitest";
import { lostResults } from "../../src/history/newer-objects.ts";
import { snapshotAt } from "../../src/history/object-keys.ts";
import { beginRun } from "../support/harness/drive.ts";
import { createChainHarness } from "../support/harness/harness.ts";
import { clerk } from "../support/restores/clerk.ts";

async function played(part: Partial<Parameters<typeof clerk>[0]> = {}) {
  const harness = createChainHarness();
  const agent = clerk({ effect: "unsafe", words: () => "pay", done: [], calls: 2, ...part });
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runUntilIdle(agent);
  return { harness, row: harness.row(run) };
}

const MARK = { at: 2, asOf: 1, version: 0 };

test("knows the result of each call of the lost time by its key and the digest of its arguments", async () => {
  const { harness, row } = await played();
  const results = await lostResults(harness.world, row, { ...MARK, epoch: row.epoch + 1 });
  expect([...results.values()]).toEqual([
    expect.objectContaining({ outcome: "succeeded", value: { kind: "inline", json: "acted" } }),
    expect.objectContaining({ outcome: "succeeded", value: { kind: "inline", json: "acted" } }),
  ]);
});

test("leaves out what the run wrote after its restore, and what the row knew before", async () => {
  const { harness, row } = await played();
  expect((await lostResults(harness.world, row, { ...MARK, epoch: 0 })).size).toBe(0);
  const known = { ...MARK, version: row.version, epoch: row.epoch + 1 };
  expect((await lostResults(harness.world, row, known)).size).toBe(0);
});

test("leaves out a damaged snapshot, and reads the others", async () => {
  const { harness, row } = await played();
  const { objects } = harness.world.store;
  const snapshots = [...objects.keys()].filter((key) => (snapshotAt(key)?.version ?? 0) > 0).toSorted();
  objects.set(snapshots[0] ?? "", new Uint8Array([1, 2, 3]));
  const results = await lostResults(harness.world, row, { ...MARK, epoch: row.epoch + 1 });
  expect(results.size).toBeGreaterThan(0);
  for (const key of snapshots) objects.set(key, new Uint8Array([1, 2, 3]));
  expect((await lostResults(harness.world, row, { ...MARK, epoch: row.epoch + 1 })).size).toBe(0);
});

test("leaves out each result that has an undo, where a snapshot is missing that may have undone it", async () => {
  const { harness, row } = await played({ part: { undo: { effect: "keyed", run: () => {} } } as never });
  const mark = { ...MARK, epoch: row.epoch + 1 };
  expect((await lostResults(harness.world, row, mark)).size).toBe(2);
  const { objects } = harness.world.store;
  const last = [...objects.keys()]
    .filter((key) => (snapshotAt(key)?.version ?? 0) > 0)
    .toSorted()
    .at(-1);
  objects.set(last ?? "", new Uint8Array([1, 2, 3]));
  expect((await lostResults(harness.world, row, mark)).size).toBe(0);
});
