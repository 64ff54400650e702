/** The key of an ended run: kept whatever dies, kept by a purge, and forgotten where an operator wants that. */
import { expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Incarnation } from "../../../src/protocol/row.ts";
import { purge } from "../../../src/operations/purge.ts";
import { type CrashPoint, crashAtCall, forEachCrashPoint } from "../../support/faults/crash-at-call.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { startFirst, removeRun, retryStart } from "../../support/runs/key-retries.ts";
import { type Harness, scriptedAgent, createHarness } from "../../support/harness/harness.ts";
import { sweep } from "../../support/harness/chain-steps.ts";

/** A run that ends in a process which dies there; the retry or the sweeper goes on. */
async function endsDespite(
  harness: Harness,
  agent: Agent,
  of: { readonly crash: CrashPoint; readonly started: Incarnation },
) {
  const { run, born } = of.started;
  const payload = { run, born, chain: 1, epoch: 0, agent: agent.name };
  const isAlive = await crashAtCall(harness.world, of.crash).survives((world) =>
    drive(runnerOf(world, agent), payload),
  );
  harness.clock.moveTo(
    Math.max(harness.clock.now(), harness.row(run).leaseUntil ?? 0) + harness.world.limits.overdueMs,
  );
  for (let round = 0; round < 3 && !harness.row(run).endNotified; round += 1) {
    await sweep(harness.world);
    const { chain, epoch, endNotified } = harness.row(run);
    if (!endNotified) await drive(runnerOf(harness.world, agent), { ...payload, chain, epoch });
  }
  return isAlive;
}

test.each(["by its own commit", "to its parent"])(
  "a process dies at any call of notifying an end %s: the key is kept from when the row may be removed",
  async (told) => {
    const crashes = await forEachCrashPoint(async (crash) => {
      const harness = createHarness();
      let acts = 0;
      const agent = scriptedAgent({ run: () => (acts += 1) });
      const parent = told === "to its parent" ? await beginRun(harness.world, scriptedAgent({}), {}) : undefined;
      const started = await startFirst(harness.world, agent, parent);
      const { rows, tombstones } = harness.world.store;
      const set = rows.set.bind(rows);
      rows.set = (run, row) => {
        if (row.expiresAtSec !== null) {
          expect(tombstones.get(run)).toMatchObject({ born: row.born, status: row.status });
          expect(tombstones.get(run)?.expiresAtSec).toBeGreaterThanOrEqual(row.expiresAtSec);
        }
        return set(run, row);
      };
      const isAlive = await endsDespite(harness, agent, { crash, started });
      expect(harness.row(started.run)).toMatchObject({ status: "completed", endNotified: true });
      await removeRun(harness, started);
      const before = acts;
      expect(await retryStart(harness.world, agent)).toMatchObject({
        kind: "ended",
        tombstone: { status: "completed" },
      });
      expect(acts).toBe(before);
      return isAlive;
    });
    expect(crashes).toBeGreaterThan(15);
  },
);

test("a purge keeps the key of the run until the operator forgets it", async () => {
  const harness = createHarness();
  const agent = scriptedAgent({});
  const { run, born } = await startFirst(harness.world, agent);
  await drive(runnerOf(harness.world, agent), { run, born, chain: 1, epoch: 0, agent: agent.name });
  expect(await purge(harness.world, run)).toMatchObject({ kind: "purged" });
  expect(await retryStart(harness.world, agent)).toMatchObject({ kind: "ended", tombstone: { born } });
  expect(await purge(harness.world, run)).toEqual({ kind: "missing" });
  expect(await purge(harness.world, run, { forgetKey: true })).toMatchObject({
    kind: "forgotten",
    tombstone: { born },
  });
  expect(await purge(harness.world, run, { forgetKey: true })).toEqual({ kind: "missing" });
  expect((await retryStart(harness.world, agent)).kind).toBe("started");
});
