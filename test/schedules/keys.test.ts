/** Idempotency keys outlive the data of their runs: a late retry under one does not start the work again. */
import { expect, test } from "vitest";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { cleanUpRemovedRuns } from "../support/harness/drive.ts";
import { startFirst, removeRun, retryStart } from "../support/runs/key-retries.ts";
import { performMaintenance } from "../support/runs/leftover-objects.ts";
import { scriptedAgent, createChainHarness, beatReply, flushPromises } from "../support/harness/harness.ts";
import { freezeBeforeCall } from "../support/harness/chain-steps.ts";

test("schedule 81: a retry with an old key arrives after the row has expired, was removed, and was cleaned up", async () => {
  const harness = createChainHarness();
  let acts = 0;
  const agent = scriptedAgent({ run: () => (acts += 1) });
  const { run, born } = await startFirst(harness.world, agent);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", endNotified: true });
  const known = {
    kind: "ended",
    tombstone: { run, born, status: "completed", endedAt: harness.row(run).statusSince },
  };
  harness.clock.moveTo((harness.row(run).expiresAtSec ?? 0) * 1_000);
  // Expired and still there; then gone, and its removal not yet heard of; then gone with everything that it left.
  expect(await retryStart(harness.world, agent)).toMatchObject(known);
  harness.world.store.expire(harness.clock.now());
  expect(await retryStart(harness.world, agent)).toMatchObject(known);
  await cleanUpRemovedRuns(harness.world, performMaintenance(harness.world));
  expect(await retryStart(harness.world, agent)).toMatchObject(known);
  expect({ acts, rows: harness.world.store.rows.size, objects: harness.world.store.objects.size }).toEqual({
    acts: 1,
    rows: 0,
    objects: 0,
  });
});

test("schedule 82: a start finds neither run nor key and freezes; another one creates the run, which ends and is removed", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const slow = freezeBeforeCall(harness.world, "create");
  const late = retryStart(slow.world, agent);
  await flushPromises();
  const { run, born } = await startFirst(harness.world, agent);
  await harness.runUntilIdle(agent);
  await removeRun(harness, { run, born });
  expect(harness.world.store.rows.size).toBe(0);
  slow.thaw();
  expect(await late).toMatchObject({ kind: "ended", tombstone: { run, born } });
  expect(harness.world.store.rows.size).toBe(0);
});

test("schedule 83: an invocation is frozen before it writes its tombstone, and a later epoch ends the run otherwise", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ reply: () => ({ text: "over" }) });
  const { run } = await startFirst(harness.world, agent);
  const out = harness.startAttempt();
  const frozen = freezeBeforeCall(harness.world, "keepKey");
  const zombie = out.perform({ world: frozen.world, agent });
  await flushPromises();
  out.end(null);
  await sendRequest(harness.world, { run, want: "cancel" });
  harness.clock.moveTo(harness.row(run).leaseUntil ?? 0);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "cancelled", endNotified: true });
  const stands = harness.world.store.tombstones.get(run);
  expect(stands).toMatchObject({ status: "cancelled", epoch: harness.row(run).epoch });
  frozen.thaw();
  expect(await beatReply(zombie)).toMatchObject({ route: "superseded" });
  expect(harness.world.store.tombstones.get(run)).toEqual(stands);
});
