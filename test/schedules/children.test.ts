/**
 * What an end owes: no end that somebody waits for stays untold, no child outlives the wish to stop, and what was to be
 * archived is there, once, before anybody can forget it.
 */
import { expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { TIMES } from "../../src/protocol/limits.ts";
import type { World } from "../../src/ports/world.ts";
import { archiveKey } from "../../src/history/object-keys.ts";
import { purge } from "../../src/operations/purge.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { beginRun, killableWorld } from "../support/harness/drive.ts";
import {
  FINAL_REPLY,
  type Harness,
  scriptedAgent,
  createChainHarness,
  neverSettles,
  flushPromises,
} from "../support/harness/harness.ts";
import { boss, worker } from "../support/agents/workers.ts";
import {
  crashAfterCall,
  freezeBeforeCall,
  startKeyedRun,
  sweep,
  withTakeovers,
} from "../support/harness/chain-steps.ts";
import { household } from "../support/runs/parent-steps.ts";

test("schedule 41: a child ends and its process dies before it notifies; the row is kept past its expiry", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ reply: () => FINAL_REPLY });
  const parent = await beginRun(harness.world, agent, {});
  // The parent waits, as far as this schedule goes.
  harness.startAttempt();
  const child = await startKeyedRun(harness.world, { agent, key: "child", parent });
  await harness.loseAttempt(agent, crashAfterCall(harness.world, "commit"));
  harness.stopExecution(child);
  expect(harness.row(child.run)).toMatchObject({ status: "completed", endNotified: false, expiresAtSec: null });
  harness.clock.moveTo(harness.clock.now() + harness.world.limits.retentionMs + 1_000);
  await sweep(harness.world);
  const now = harness.clock.now();
  const [message] = await harness.world.inbox.unread({ ...parent, now, limit: 9 });
  expect(message?.body).toMatchObject({ kind: "child", child: child.run, status: "completed" });
  const expiresAtSec = harness.row(child.run).expiresAtSec ?? 0;
  expect(expiresAtSec * 1_000).toBeGreaterThanOrEqual(now + harness.world.limits.retentionMs);
  expect(await harness.world.table.read(child.run, expiresAtSec * 1_000)).toBeNull();
});

/** A parent is cancelled while one child works and another is just being made. */
async function cancelWhileMaking(): Promise<void> {
  const harness = createChainHarness();
  const agents = [boss(), worker()];
  const { run } = await beginRun(harness.world, agents[0] as Agent, {});
  const slow = freezeBeforeCall(harness.world, "createChildren");
  const out = harness.startAttempt();
  const late = out.perform({ world: slow.world, agent: agents });
  await flushPromises();
  out.end(null);
  // The retry makes both, and parks; one of them works.
  await harness.runAttempt(agents);
  const children = [...harness.world.store.rows.values()].filter(({ parent }) => parent?.run === run);
  expect(children).toHaveLength(2);
  expect(await sendRequest(harness.world, { run, want: "cancel" })).toBe("requested");
  slow.thaw();
  await late;
  await harness.runUntilIdle(agents);
  const ended = children.map((child) => harness.row(child.run));
  expect(ended).toMatchObject([
    { status: "cancelled", endNotified: true },
    { status: "cancelled", endNotified: true },
  ]);
  expect(harness.row(run)).toMatchObject({ status: "cancelled", endNotified: true });
}

/** The end of a parent is forced, and its process dies. Its child has not begun, and nothing asks it to stop. */
async function orphanBeforeItsFirstBeat(): Promise<void> {
  const worked: number[] = [];
  const idle = worker({ onReply: (part) => void worked.push(part) });
  const house = await household([withTakeovers(boss({ children: 1 }), 1), idle]);
  const { harness, agents, run } = house;
  await house.runAttempt(run);
  await house.runAttempt(run);
  await house.crashTwice(run);
  const out = house.startAttempt(run);
  out.perform({ world: crashAfterCall(harness.world, "commit"), agent: agents }).catch(() => undefined);
  await flushPromises();
  out.end(null);
  const [child] = house.children();
  expect({ row: harness.row(run), child }).toMatchObject({
    row: { status: "failed", endNotified: false },
    child: { status: "queued", cancel: false },
  });
  await house.play(child?.run ?? "");
  expect({ worked, status: harness.row(child?.run ?? "").status }).toEqual({ worked: [], status: "cancelled" });
}

test("schedule 44: a parent ends while a child works or is being made, and while another has not begun", async () => {
  await cancelWhileMaking();
  await orphanBeforeItsFirstBeat();
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
  await harness.loseAttempt(archiving, crashAfterCall(harness.world, "commit"));
  expect(harness.row(run.run)).toMatchObject({ status: "completed", endNotified: false, expiresAtSec: null });
  // The retry dies as well, with its next write: whatever that is, the run is not told without its archive.
  const { world: mine, kill } = killableWorld(harness.world);
  const put: World["objects"]["put"] = async () => {
    kill();
    return neverSettles();
  };
  await harness.loseAttempt(archiving, { ...mine, objects: { ...mine.objects, put } });
  harness.stopExecution(run);
  harness.clock.moveTo(harness.clock.now() + harness.world.limits.retentionMs + 1_000);
  expect(archives(harness)).toEqual([]);
  expect(await harness.world.table.read(run.run, harness.clock.now())).toMatchObject({ endNotified: false });
  await sweep(harness.world);
  expect(archives(harness)).toEqual([archiveKey(run, "warm")]);
  const { endNotified, expiresAtSec } = harness.row(run.run);
  expect({ endNotified, expiresLater: (expiresAtSec ?? 0) * 1_000 > harness.clock.now() }).toEqual({
    endNotified: true,
    expiresLater: true,
  });
});

test("schedule 51: a run is purged with its archive while a process that read its end as unnotified may still store it", async () => {
  const harness = createChainHarness();
  const run = await startKeyedRun(harness.world, { agent: archiving, key: "kept" });
  const thawed = Promise.withResolvers<void>();
  const put: World["objects"]["put"] = async (key, bytes) => {
    if (key.startsWith("archive/")) await thawed.promise;
    return harness.world.objects.put(key, bytes);
  };
  const frozen = harness.startAttempt();
  const began = harness.clock.now();
  const late = frozen.perform({
    world: { ...harness.world, objects: { ...harness.world.objects, put } },
    agent: archiving,
  });
  await flushPromises();
  frozen.end(null);
  harness.clock.moveTo(began + 1_000);
  await harness.runAttempt(archiving);
  expect(harness.row(run.run).endNotified).toBe(true);
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
  expect(harness.row(run.run)).toBeUndefined();
});
