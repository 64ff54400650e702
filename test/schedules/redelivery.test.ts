/** An operator sends webhooks again while processes deliver them, or die. */
import { expect, test } from "vitest";
import { queueTo, queuedRecord } from "../../src/features/webhooks/outbox.ts";
import { circuitNow } from "../../src/features/webhooks/circuits.ts";
import { endpointId } from "../../src/features/webhooks/endpoints.ts";
import { UNTRIED } from "../../src/features/webhooks/route.ts";
import { redeliver } from "../../src/operations/webhooks.ts";
import type { Posted, Webhook } from "../../src/ports/webhooks.ts";
import { isOpen } from "../../src/protocol/webhook-circuit.ts";
import { forEachCrashPoint, crashAtCall } from "../support/faults/crash-at-call.ts";
import { type Receiver, HOOK, outboxOf, withReceiver } from "../support/runs/webhook-receiver.ts";
import { type Harness, createSupervisedHarness } from "../support/harness/harness.ts";

const OTHER: Webhook = { ...HOOK, url: "https://other.example/cairn" };
const REFUSED: Posted = { kind: "answered", status: 503 };

/** An endpoint that has refused some notifications, so that its circuit is open. */
async function refusing(runs: number): Promise<Receiver<Harness>> {
  const receiver = withReceiver(createSupervisedHarness(), [HOOK]);
  const { world, clock } = receiver.harness;
  receiver.answers = () => REFUSED;
  const now = clock.now();
  for (let index = 0; index < runs; index += 1) {
    const commit = { run: `local-${index}`, born: "born", agent: "actor", epoch: 1, version: 3, place: 0 };
    const notification = { kind: "run.completed", at: now } as const;
    const body = { stage: "queued", ...commit, ...UNTRIED, notification, url: HOOK.url } as const;
    await world.records.add(queuedRecord(queueTo(world, HOOK.url), body, { tenant: "local", now }), now);
  }
  await receiver.harness.sweep();
  expect(isOpen(await circuitNow(world, queueTo(world, HOOK.url)))).toBe(true);
  return receiver;
}

const askFor = ({ world }: Harness, to: string | null = null) =>
  redeliver({ world, tenant: "local" }, { endpoint: endpointId(world, HOOK.url), notification: null, to });

test("schedule 273: an operator closes a circuit while a probe is under way, and its failure opens it no more", async () => {
  const receiver = await refusing(8);
  const { harness } = receiver;
  const queue = queueTo(harness.world, HOOK.url);
  harness.passTime(300_000);
  let isAsked = false;
  // The process that sends the probe holds the lease, and stores the circuit after the answer.
  receiver.answers = async () => {
    if (isAsked) return { kind: "answered", status: 200 };
    isAsked = true;
    await askFor(harness);
    harness.passTime(1);
    return REFUSED;
  };
  await harness.sweep();
  await harness.sweep();
  expect(isAsked).toBe(true);
  expect(isOpen(await circuitNow(harness.world, queue))).toBe(false);
  const accepted = receiver.received.slice(9).map(({ headers }) => headers["webhook-id"]);
  expect(new Set(accepted).size).toBeGreaterThanOrEqual(7);
});

test("schedule 274: a sweep between two notifications that are put back gives up neither of them", async () => {
  const receiver = await refusing(8);
  const { harness } = receiver;
  const { world } = harness;
  for (const pauseMs of [70 * 3_600_000, 0]) {
    harness.passTime(pauseMs);
    await harness.sweep();
  }
  expect(await outboxOf(harness)).toEqual([]);
  const alarms = harness.alarms.length;
  let sweeps = 0;
  const add: typeof world.records.add = async (record, now) => {
    const added = await world.records.add(record, now);
    if (record.kind !== "webhook") return added;
    sweeps += 1;
    await harness.sweep();
    return added;
  };
  const asking = { ...world, records: { ...world.records, add } };
  await redeliver(
    { world: asking, tenant: "local" },
    {
      ...{ endpoint: endpointId(world, HOOK.url), notification: null, to: null },
    },
  );
  expect(sweeps).toBe(8);
  expect(harness.alarms.slice(alarms).filter(({ what }) => what === "WebhookUndelivered")).toEqual([]);
  expect(await outboxOf(harness)).toHaveLength(8);
});

test("schedule 275: a process dies at any call of a move, and the same command ends it without a loss", async () => {
  await forEachCrashPoint(async (crash) => {
    const receiver = await refusing(6);
    const { harness } = receiver;
    const { webhooks } = harness.world;
    if (webhooks === undefined) throw new Error("there are no webhooks");
    const moved = { ...harness.world, webhooks: { ...webhooks, endpoints: [OTHER] } };
    await harness.sweep(moved);
    const asked = { endpoint: endpointId(moved, HOOK.url), notification: null, to: endpointId(moved, OTHER.url) };
    const survived = await crashAtCall(moved, crash).survives(async (world) => {
      await redeliver({ world, tenant: "local" }, asked);
    });
    if (!survived) await redeliver({ world: moved, tenant: "local" }, asked);
    receiver.answers = () => ({ kind: "answered", status: 200 });
    await harness.sweep(moved);
    const heard = receiver.received.filter(({ url }) => url === OTHER.url).map(({ headers }) => headers["webhook-id"]);
    expect(new Set(heard).size, JSON.stringify(crash)).toBe(6);
    return survived;
  });
});
