/** A process dies between what happened and what the endpoints hear of it. */
import { expect, test } from "vitest";
import { deliverNotifications } from "../../src/features/webhooks/deliver.ts";
import { deliverQueue } from "../../src/features/webhooks/endpoint.ts";
import { routeNoted } from "../../src/features/webhooks/route.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { approvalAgent } from "../support/agents/approval-agent.ts";
import type { TaskResult } from "../../src/protocol/chain.ts";
import { beginRun, runnerOf } from "../support/harness/drive.ts";
import { scriptedAgent, MS, createSupervisedHarness } from "../support/harness/harness.ts";
import { crashAtCall, forEachCrashPoint } from "../support/faults/crash-at-call.ts";
import { HOOK, outboxOf, toldBy, withReceiver } from "../support/runs/webhook-receiver.ts";

/** Longer than the lease of a dead process. */
const LEASE_MS = MS.beat + MS.skew + 1;

test("schedule 190: a process dies at any call around a commit that someone wants to hear of, and nothing is lost", async () => {
  const agent = approvalAgent();
  const crashes = await forEachCrashPoint(async (crash) => {
    const { harness, received } = withReceiver(createSupervisedHarness());
    const payload = await beginRun(harness.world, agent, {});
    const dying = crashAtCall(harness.world, crash);
    const out = harness.startAttempt();
    let result: TaskResult | null = null;
    const survived = await dying.survives(async (world) => {
      result = await out.perform({ world, agent });
    });
    out.end(result);
    harness.passTime(LEASE_MS);
    await harness.driveUntil({
      agent,
      run: payload.run,
      until: ({ status, park }) => status === "waiting" && park !== null,
    });
    harness.passTime(LEASE_MS);
    await harness.sweep();
    expect(toldBy(received), JSON.stringify(crash)).toEqual([
      expect.objectContaining({
        type: "approval.requested",
        said: expect.objectContaining({ run: payload.run, call: "c1" }),
      }),
    ]);
    expect(await outboxOf(harness)).toEqual([]);
    return survived;
  });
  expect(crashes).toBeGreaterThan(10);
});

test("schedule 191: a process dies at any call of a delivery, and the endpoint gets the notification, always with one ID", async () => {
  const agent = scriptedAgent({});
  let repeated = 0;
  await forEachCrashPoint(async (crash) => {
    const { harness, received } = withReceiver(createSupervisedHarness());
    const { run } = await beginRun(harness.world, agent, {});
    await harness.driveUntil({ agent, run, until: ({ status }) => status === "completed" });
    const dying = crashAtCall(harness.world, crash);
    const survived = await dying.survives((world) =>
      runTask(runnerOf(world, agent))({ kind: "sweep" }, harness.invocation()),
    );
    harness.passTime(LEASE_MS);
    await harness.sweep();
    const told = toldBy(received);
    expect(told.length, JSON.stringify(crash)).toBeGreaterThan(0);
    expect(new Set(told.map(({ id, type }) => `${id} ${type}`)).size).toBe(1);
    if (told.length > 1) repeated += 1;
    expect(await outboxOf(harness)).toEqual([]);
    return survived;
  });
  expect(repeated).toBeGreaterThan(0);
});

test("schedule 280: a process dies at any call of the routing, and each of two endpoints hears of the end", async () => {
  const agent = scriptedAgent({});
  const other = { ...HOOK, url: "https://other.example/cairn" };
  await forEachCrashPoint(async (crash) => {
    const { harness, received } = withReceiver(createSupervisedHarness(), [HOOK, other]);
    const { run } = await beginRun(harness.world, agent, {});
    await harness.driveUntil({ agent, run, until: ({ status }) => status === "completed" });
    const dying = crashAtCall(harness.world, crash);
    const survived = await dying.survives((world) =>
      runTask(runnerOf(world, agent))({ kind: "sweep" }, harness.invocation()),
    );
    harness.passTime(LEASE_MS);
    await harness.sweep();
    const heard = new Set(received.map(({ url }) => url));
    expect([...heard].toSorted(), JSON.stringify(crash)).toEqual([HOOK.url, other.url]);
    return survived;
  });
});

test("schedule 281: what is queued while the last look of another process ends waits for no sweep", async () => {
  for (const isRouting of [true, false]) {
    const { harness, received } = withReceiver(createSupervisedHarness());
    const { world } = harness;
    const agent = scriptedAgent({});
    const end = async (): Promise<void> => {
      const { run } = await beginRun(world, agent, {});
      await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified });
    };
    await end();
    let isSecond = false;
    // The first process has looked for the last time, at what was noted or at its queue, and is about to give up its lease.
    const take: typeof world.leases.take = async (lease) => {
      if (!isSecond && lease.until <= world.clock.now() && (lease.name === "webhooks") === isRouting) {
        isSecond = true;
        await end();
        await deliverNotifications(world, harness.invocation());
      }
      return world.leases.take(lease);
    };
    const first = { ...world, leases: { ...world.leases, take } };
    if (isRouting) await deliverNotifications(first, harness.invocation());
    else {
      const { webhooks = null } = world;
      const [webhook = null] = webhooks?.endpoints ?? [];
      if (webhooks === null || webhook === null) throw new Error("there is no endpoint");
      await routeNoted(world, { webhooks, invocation: harness.invocation(), onQueued: () => undefined });
      await deliverQueue(first, { webhooks, webhook, invocation: harness.invocation() });
    }
    expect(isSecond).toBe(true);
    expect(new Set(toldBy(received).map(({ id }) => id)).size).toBe(2);
  }
});
