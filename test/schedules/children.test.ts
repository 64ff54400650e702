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
import { AT, startedEvent } from "../support/build.ts";
import { begin, mortal } from "../support/drive.ts";
import { OVER, type Stage, actor, callsThenOver, chainedStage, never, rowOf } from "../support/stage.ts";
import {
  beforeCall,
  dyingAfter,
  frozenBefore,
  hear,
  leave,
  lose,
  perform,
  playOut,
  rest,
  start,
  step,
  stop,
  sweep,
  takeUp,
} from "../support/steps.ts";

/** A beat of the parent that says in its state, before it makes them, which runs it is about to start. */
async function intendChildren(on: Stage, payload: Payload, children: readonly string[]): Promise<void> {
  const active = await takeUp(on, { payload, retry: 0, attempt: 1 });
  active.record(startedEvent);
  for (const child of children) active.record({ kind: "ChildStarted", at: AT, child });
  await active.commit({ release: true });
}

test("schedule 41: a child ends and crashes before it tells; it is still there when its time would be over", async () => {
  const on = chainedStage();
  const agent = actor({ reply: () => OVER });
  const boss = await begin(on.world, agent, {});
  // The parent waits, as far as this schedule goes.
  leave(on);
  const child = await start(on.world, { agent, key: "child", parent: boss });
  await lose(on, agent, dyingAfter(on.world, "commit"));
  stop(on, child);
  expect(rowOf(on, child.run)).toMatchObject({ status: "completed", endNotified: false, expiresAtSec: null });
  on.clock.moveTo(on.clock.now() + on.world.limits.retentionMs + 1_000);
  await sweep(on.world);
  const now = on.clock.now();
  const [message] = await on.world.table.inbox({ ...boss, now, limit: 9 });
  expect(message?.body).toMatchObject({ kind: "child", child: child.run, status: "completed" });
  const expiresAtSec = rowOf(on, child.run).expiresAtSec ?? 0;
  expect(expiresAtSec * 1_000).toBeGreaterThanOrEqual(now + on.world.limits.retentionMs);
  expect(await on.world.table.read(child.run, expiresAtSec * 1_000)).toBeNull();
});

test("schedule 44: a parent is cancelled while one child runs and another is just being made", async () => {
  const on = chainedStage();
  const agent = actor({ reply: callsThenOver(9) });
  const nameOf = (idempotencyKey: string): string =>
    runId(on.world.hash, { tenant: "local", agent: agent.name, idempotencyKey });
  const [one, other] = [nameOf("one"), nameOf("other")];
  const boss = await begin(on.world, agent, {});
  const out = leave(on);
  await intendChildren(on, boss, [one, other]);
  hear(on, out, { kind: "beat", reply: { ...boss, epoch: 1, route: "wait", seconds: 10 } });
  await start(on.world, { agent, key: "one", parent: boss });
  const slow = frozenBefore(dyingAfter(on.world, "create"), "create");
  void start(slow.world, { agent, key: "other", parent: boss });
  for (let beat = 0; beat < 3; beat += 1) await step(on, agent);
  const busy = leave(on);
  expect(await sendRequest(on.world, { run: boss.run, want: "cancel" })).toBe("requested");
  on.clock.moveTo(on.clock.now() + 10_000);
  // It ends, and dies before it tells anybody.
  await lose(
    on,
    agent,
    dyingAfter(on.world, "commit", ({ unlessWoken }) => unlessWoken),
  );
  expect([rowOf(on, boss.run).status, rowOf(on, one).cancel]).toEqual(["cancelled", false]);
  const telling = beforeCall(on.world, "recordEndNotified", async () => expect(rowOf(on, one).cancel).toBe(true));
  await step(on, agent, telling);
  expect(rowOf(on, boss.run).endNotified).toBe(true);
  // Whoever was making the other one thaws, and dies before it starts it: the sweeper does.
  slow.thaw();
  await rest();
  expect(rowOf(on, other).status).toBe("queued");
  await sweep(on.world);
  hear(on, busy, await perform(busy.task, { world: on.world, agent }));
  await playOut(on, agent);
  expect(rowOf(on, one)).toMatchObject({ status: "cancelled", endNotified: true });
  expect(rowOf(on, other)).toMatchObject({ status: "cancelled", endNotified: true, spent: { beats: 0 } });
});

const archiving: Agent = { ...actor({ reply: () => OVER }), retention: { hotMs: null, archive: "warm" } };

const archives = (on: Stage): readonly string[] =>
  [...on.world.store.objects.keys()].filter((key) => key.startsWith("archive/"));

test("schedule 50: a process dies right before it puts the archive; the end is untold until somebody has put it", async () => {
  const on = chainedStage();
  const run = await start(on.world, { agent: archiving, key: "kept" });
  await lose(on, archiving, dyingAfter(on.world, "commit"));
  expect(rowOf(on, run.run)).toMatchObject({ status: "completed", endNotified: false, expiresAtSec: null });
  // The retry dies as well, with its next write: whatever that is, the run is not told without its archive.
  const { world: mine, kill } = mortal(on.world);
  const put: World["objects"]["put"] = async () => {
    kill();
    return never();
  };
  await lose(on, archiving, { ...mine, objects: { ...mine.objects, put } });
  stop(on, run);
  on.clock.moveTo(on.clock.now() + on.world.limits.retentionMs + 1_000);
  expect(archives(on)).toEqual([]);
  expect(await on.world.table.read(run.run, on.clock.now())).toMatchObject({ endNotified: false });
  await sweep(on.world);
  expect(archives(on)).toEqual([archiveKey(run, "warm")]);
  const { endNotified, expiresAtSec } = rowOf(on, run.run);
  expect([endNotified, (expiresAtSec ?? 0) * 1_000 > on.clock.now()]).toEqual([true, true]);
});

test("schedule 51: a run is purged with its archive while somebody who found its end untold can still put it", async () => {
  const on = chainedStage();
  const run = await start(on.world, { agent: archiving, key: "kept" });
  const thawed = Promise.withResolvers<void>();
  const put: World["objects"]["put"] = async (key, bytes) => {
    if (key.startsWith("archive/")) await thawed.promise;
    return on.world.objects.put(key, bytes);
  };
  const frozen = leave(on);
  const began = on.clock.now();
  const late = perform(frozen.task, {
    world: { ...on.world, objects: { ...on.world.objects, put } },
    agent: archiving,
  });
  await rest();
  hear(on, frozen, null);
  on.clock.moveTo(began + 1_000);
  await step(on, archiving);
  expect(rowOf(on, run.run).endNotified).toBe(true);
  const { skewMs } = on.world.limits;
  const asked = await purge(on.world, run.run);
  // By then it is killed: it is not frozen for longer than it may live.
  if (asked.kind === "tooEarly")
    expect(asked.from).toBeGreaterThanOrEqual(began + 1_000 + TIMES.invocationMsMax + skewMs);
  thawed.resolve();
  await late;
  if (asked.kind === "tooEarly") on.clock.moveTo(asked.from);
  if (asked.kind !== "purged") expect(await purge(on.world, run.run)).toMatchObject({ kind: "purged" });
  expect(archives(on)).toEqual([]);
  expect(rowOf(on, run.run)).toBeUndefined();
});
