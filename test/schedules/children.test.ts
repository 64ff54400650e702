/**
 * What an end owes: no end that somebody waits for stays untold, no child outlives the wish to stop, and what was to be
 * archived is there, once, before anybody can forget it.
 */
import { expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { runId } from "../../src/protocol/ids.ts";
import { TIMES } from "../../src/protocol/limits.ts";
import type { Payload } from "../../src/protocol/chain.ts";
import type { World } from "../../src/ports/world.ts";
import { archiveKey } from "../../src/history/object-keys.ts";
import { purge } from "../../src/operations/purge.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { AT, startedEvent } from "../support/states/states-and-events.ts";
import { beginRun, killableWorld } from "../support/harness/drive.ts";
import {
  FINAL_REPLY,
  type Harness,
  scriptedAgent,
  callsThenFinal,
  createChainHarness,
  neverSettles,
  rowOf,
} from "../support/harness/harness.ts";
import {
  beforeCall,
  crashAfterCall,
  freezeBeforeCall,
  endAttempt,
  startAttempt,
  loseAttempt,
  performTask,
  runUntilIdle,
  flushPromises,
  startKeyedRun,
  runAttempt,
  stopExecution,
  sweep,
  claimAndLoad,
} from "../support/harness/chain-steps.ts";

/** A beat of the parent that says in its state, before it makes them, which runs it is about to start. */
async function intendChildren(harness: Harness, payload: Payload, children: readonly string[]): Promise<void> {
  const active = await claimAndLoad(harness, { payload, retry: 0, attempt: 1 });
  active.record(startedEvent);
  for (const child of children) active.record({ kind: "ChildStarted", at: AT, child });
  await active.commit({ release: true });
}

test("schedule 41: a child ends and its process dies before it notifies; the row is kept past its expiry", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ reply: () => FINAL_REPLY });
  const boss = await beginRun(harness.world, agent, {});
  // The parent waits, as far as this schedule goes.
  startAttempt(harness);
  const child = await startKeyedRun(harness.world, { agent, key: "child", parent: boss });
  await loseAttempt(harness, agent, crashAfterCall(harness.world, "commit"));
  stopExecution(harness, child);
  expect(rowOf(harness, child.run)).toMatchObject({ status: "completed", endNotified: false, expiresAtSec: null });
  harness.clock.moveTo(harness.clock.now() + harness.world.limits.retentionMs + 1_000);
  await sweep(harness.world);
  const now = harness.clock.now();
  const [message] = await harness.world.inbox.unread({ ...boss, now, limit: 9 });
  expect(message?.body).toMatchObject({ kind: "child", child: child.run, status: "completed" });
  const expiresAtSec = rowOf(harness, child.run).expiresAtSec ?? 0;
  expect(expiresAtSec * 1_000).toBeGreaterThanOrEqual(now + harness.world.limits.retentionMs);
  expect(await harness.world.table.read(child.run, expiresAtSec * 1_000)).toBeNull();
});

test("schedule 44: a parent is cancelled while one child runs and another is just being made", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ reply: callsThenFinal(9) });
  const nameOf = (idempotencyKey: string): string =>
    runId(harness.world.hash, { tenant: "local", agent: agent.name, idempotencyKey });
  const [one, other] = [nameOf("one"), nameOf("other")];
  const boss = await beginRun(harness.world, agent, {});
  const out = startAttempt(harness);
  await intendChildren(harness, boss, [one, other]);
  endAttempt(harness, out, { kind: "beat", reply: { ...boss, epoch: 1, route: "wait", seconds: 10 } });
  await startKeyedRun(harness.world, { agent, key: "one", parent: boss });
  const slow = freezeBeforeCall(crashAfterCall(harness.world, "create"), "create");
  void startKeyedRun(slow.world, { agent, key: "other", parent: boss });
  for (let beat = 0; beat < 3; beat += 1) await runAttempt(harness, agent);
  const busy = startAttempt(harness);
  expect(await sendRequest(harness.world, { run: boss.run, want: "cancel" })).toBe("requested");
  harness.clock.moveTo(harness.clock.now() + 10_000);
  // It ends, and dies before it tells anybody.
  await loseAttempt(
    harness,
    agent,
    crashAfterCall(harness.world, "commit", ({ unlessWoken }) => unlessWoken),
  );
  expect([rowOf(harness, boss.run).status, rowOf(harness, one).cancel]).toEqual(["cancelled", false]);
  const telling = beforeCall(harness.world, "recordEndNotified", async () =>
    expect(rowOf(harness, one).cancel).toBe(true),
  );
  await runAttempt(harness, agent, telling);
  expect(rowOf(harness, boss.run).endNotified).toBe(true);
  // Whoever was making the other one thaws, and dies before it starts it: the sweeper does.
  slow.thaw();
  await flushPromises();
  expect(rowOf(harness, other).status).toBe("queued");
  await sweep(harness.world);
  endAttempt(harness, busy, await performTask(busy.task, { world: harness.world, agent }));
  await runUntilIdle(harness, agent);
  expect(rowOf(harness, one)).toMatchObject({ status: "cancelled", endNotified: true });
  expect(rowOf(harness, other)).toMatchObject({ status: "cancelled", endNotified: true, spent: { beats: 0 } });
});

const archiving: Agent = {
  ...scriptedAgent({ reply: () => FINAL_REPLY }),
  retention: { hotMs: null, archive: "warm" },
};

const archives = (harness: Harness): readonly string[] =>
  [...harness.world.store.objects.keys()].filter((key) => key.startsWith("archive/"));

test("schedule 50: a process dies right before it stores the archive; the end is unnotified until an archive is stored", async () => {
  const harness = createChainHarness();
  const run = await startKeyedRun(harness.world, { agent: archiving, key: "kept" });
  await loseAttempt(harness, archiving, crashAfterCall(harness.world, "commit"));
  expect(rowOf(harness, run.run)).toMatchObject({ status: "completed", endNotified: false, expiresAtSec: null });
  // The retry dies as well, with its next write: whatever that is, the run is not told without its archive.
  const { world: mine, kill } = killableWorld(harness.world);
  const put: World["objects"]["put"] = async () => {
    kill();
    return neverSettles();
  };
  await loseAttempt(harness, archiving, { ...mine, objects: { ...mine.objects, put } });
  stopExecution(harness, run);
  harness.clock.moveTo(harness.clock.now() + harness.world.limits.retentionMs + 1_000);
  expect(archives(harness)).toEqual([]);
  expect(await harness.world.table.read(run.run, harness.clock.now())).toMatchObject({ endNotified: false });
  await sweep(harness.world);
  expect(archives(harness)).toEqual([archiveKey(run, "warm")]);
  const { endNotified, expiresAtSec } = rowOf(harness, run.run);
  expect([endNotified, (expiresAtSec ?? 0) * 1_000 > harness.clock.now()]).toEqual([true, true]);
});

test("schedule 51: a run is purged with its archive while a process that read its end as unnotified may still store it", async () => {
  const harness = createChainHarness();
  const run = await startKeyedRun(harness.world, { agent: archiving, key: "kept" });
  const thawed = Promise.withResolvers<void>();
  const put: World["objects"]["put"] = async (key, bytes) => {
    if (key.startsWith("archive/")) await thawed.promise;
    return harness.world.objects.put(key, bytes);
  };
  const frozen = startAttempt(harness);
  const began = harness.clock.now();
  const late = performTask(frozen.task, {
    world: { ...harness.world, objects: { ...harness.world.objects, put } },
    agent: archiving,
  });
  await flushPromises();
  endAttempt(harness, frozen, null);
  harness.clock.moveTo(began + 1_000);
  await runAttempt(harness, archiving);
  expect(rowOf(harness, run.run).endNotified).toBe(true);
  const { skewMs } = harness.world.limits;
  const asked = await purge(harness.world, run.run);
  // By then it is killed: it is not frozen for longer than it may live.
  if (asked.kind === "tooEarly")
    expect(asked.from).toBeGreaterThanOrEqual(began + 1_000 + TIMES.invocationMsMax + skewMs);
  thawed.resolve();
  await late;
  if (asked.kind === "tooEarly") harness.clock.moveTo(asked.from);
  if (asked.kind !== "purged") expect(await purge(harness.world, run.run)).toMatchObject({ kind: "purged" });
  expect(archives(harness)).toEqual([]);
  expect(rowOf(harness, run.run)).toBeUndefined();
});
