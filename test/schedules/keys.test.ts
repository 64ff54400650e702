/** Idempotency keys outlive the data of their runs: a late retry under one does not start the work again. */
import { expect, test } from "vitest";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { cleanRemoved } from "../support/drive.ts";
import { first, goes, retry } from "../support/old-keys.ts";
import { upkeep } from "../support/remains.ts";
import { actor, chainedStage, replyOf, rowOf } from "../support/stage.ts";
import { frozenBefore, hear, leave, perform, playOut, rest } from "../support/steps.ts";

test("schedule 81: a retry with an old key comes after the row has expired, was removed, and was cleaned up after", async () => {
  const on = chainedStage();
  let acts = 0;
  const agent = actor({ run: () => (acts += 1) });
  const { run, born } = await first(on.world, agent);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", endNotified: true });
  const known = { kind: "ended", tombstone: { run, born, status: "completed", endedAt: rowOf(on, run).statusSince } };
  on.clock.moveTo((rowOf(on, run).expiresAtSec ?? 0) * 1_000);
  // Expired and still there; then gone, and its removal not yet heard of; then gone with everything that it left.
  expect(await retry(on.world, agent)).toMatchObject(known);
  on.world.store.expire(on.clock.now());
  expect(await retry(on.world, agent)).toMatchObject(known);
  await cleanRemoved(on.world, upkeep(on.world));
  expect(await retry(on.world, agent)).toMatchObject(known);
  expect([acts, on.world.store.rows.size, on.world.store.objects.size]).toEqual([1, 0, 0]);
});

test("schedule 82: a start finds neither run nor key and freezes; another one makes the run, which ends and goes", async () => {
  const on = chainedStage();
  const agent = actor({});
  const slow = frozenBefore(on.world, "create");
  const late = retry(slow.world, agent);
  await rest();
  const { run, born } = await first(on.world, agent);
  await playOut(on, agent);
  await goes(on, { run, born });
  expect(on.world.store.rows.size).toBe(0);
  slow.thaw();
  expect(await late).toMatchObject({ kind: "ended", tombstone: { run, born } });
  expect(on.world.store.rows.size).toBe(0);
});

test("schedule 83: an invocation is frozen before it writes its tombstone, and a later epoch ends the run otherwise", async () => {
  const on = chainedStage();
  const agent = actor({ reply: () => ({ text: "over" }) });
  const { run } = await first(on.world, agent);
  const out = leave(on);
  const frozen = frozenBefore(on.world, "keepKey");
  const zombie = perform(out.task, { world: frozen.world, agent });
  await rest();
  hear(on, out, null);
  await sendRequest(on.world, { run, want: "cancel" });
  on.clock.moveTo(rowOf(on, run).leaseUntil ?? 0);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "cancelled", endNotified: true });
  const stands = on.world.store.tombstones.get(run);
  expect(stands).toMatchObject({ status: "cancelled", epoch: rowOf(on, run).epoch });
  frozen.thaw();
  expect(await replyOf(zombie)).toMatchObject({ route: "superseded" });
  expect(on.world.store.tombstones.get(run)).toEqual(stands);
});
