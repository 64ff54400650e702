/** Where a reader of events continues. */
import { expect, test } from "vitest";
import { pollEvents } from "../../src/operations/event-page.ts";
import { timeline } from "../../src/operations/views.ts";
import type { World } from "../../src/ports/world.ts";
import { Turns, worldInTurns } from "../../src/api/streams/turns.ts";
import { DamagedCopy, createLongRun } from "../support/runs/damaged-copies.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";
import { createStreamedRun } from "../support/runs/streamed-run.ts";

test("a reader continues behind commits without events, and waits", async () => {
  const it = await createStreamedRun();
  const row = it.harness.row(it.run);
  it.harness.world.store.rows.set(it.run, rewriteRow(row, { version: row.version + 1 }));
  const page = await pollEvents(it.harness.world, { run: it.run, after: row.version, wait: 0, bytesMax: null });
  expect(page).toMatchObject({ entries: [], next: row.version + 1, more: false });
});

test.each([
  ["a page", (world: World, run: string) => pollEvents(world, { run, after: 0, wait: 0, bytesMax: 100_000 })],
  ["its events", (world: World, run: string) => timeline(world, { run, after: 0 })],
])("a run that is removed while its reader waits for a turn is gone, and not damaged: %s", async (_, read) => {
  const { world, store, run } = new DamagedCopy(await createLongRun());
  let turn = 0;
  const turns = new Turns(async () => {
    turn += 1;
    if (turn < 3) return;
    store.rows.delete(run);
    store.objects.clear();
  });
  expect(await read(worldInTurns(world, turns), run)).toBeNull();
});
