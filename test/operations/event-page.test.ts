/** Where a reader of events continues. */
import { expect, test } from "vitest";
import { pollEvents } from "../../src/operations/event-page.ts";
import { rowOf } from "../support/harness/harness.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";
import { createStreamedRun } from "../support/runs/streamed-run.ts";

test("a reader continues behind commits without events, and waits", async () => {
  const it = await createStreamedRun();
  const row = rowOf(it.harness, it.run);
  it.harness.world.store.rows.set(it.run, rewriteRow(row, { version: row.version + 1 }));
  const page = await pollEvents(it.harness.world, { run: it.run, after: row.version, wait: 0, bytesMax: null });
  expect(page).toMatchObject({ entries: [], next: row.version + 1, more: false });
});
