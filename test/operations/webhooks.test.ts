/** What an operator sees of the webhook endpoints of a store, and how it sends again what they refused. */
import { expect, test } from "vitest";
import { removedWebhooks } from "../../src/compose/webhook-circuits.ts";
import { queueTo, queuedRecord } from "../../src/features/webhooks/outbox.ts";
import { endpointId } from "../../src/features/webhooks/endpoints.ts";
import { UNTRIED } from "../../src/features/webhooks/route.ts";
import { RETRY_MS } from "../../src/features/webhooks/endpoint.ts";
import { listWebhooks, redeliver } from "../../src/operations/webhooks.ts";
import type { Webhook } from "../../src/ports/webhooks.ts";
import { type Receiver, HOOK, outboxOf, withReceiver } from "../support/runs/webhook-receiver.ts";
import { type Harness, createSupervisedHarness } from "../support/harness/harness.ts";

const OTHER: Webhook = { ...HOOK, url: "https://other.example/token" };
const ALL = { notification: null, to: null } as const;

async function queue(
  { harness: { world } }: Receiver<Harness>,
  { url, runs, tenant = "local" }: { readonly url: string; readonly runs: number; readonly tenant?: string },
): Promise<void> {
  const now = world.clock.now();
  for (let index = 0; index < runs; index += 1) {
    const commit = { run: `${tenant}-${index}`, born: "born", agent: "actor", epoch: 1, version: 3, place: 0 };
    const notification = { kind: "run.completed", at: now } as const;
    const body = { stage: "queued", ...commit, ...UNTRIED, notification, url } as const;
    await world.records.add(queuedRecord(queueTo(world, url), body, { tenant, now }), now);
  }
}

const callerOf = ({ harness: { world } }: Receiver<Harness>, tenant = "local") => ({ world, tenant });
const idOf = ({ harness: { world } }: Receiver<Harness>, url: string): string => endpointId(world, url);

/** An endpoint that refuses all until its notifications are given up. */
async function givenUp(runs: number, endpoints: readonly Webhook[] = [HOOK]): Promise<Receiver<Harness>> {
  const receiver = withReceiver(createSupervisedHarness(), endpoints);
  receiver.answers = () => ({ kind: "answered", status: 503 });
  await queue(receiver, { url: HOOK.url, runs });
  for (const pauseMs of [0, ...RETRY_MS, 70 * 3_600_000]) {
    receiver.harness.passTime(pauseMs);
    await receiver.harness.sweep();
  }
  expect(await outboxOf(receiver.harness)).toEqual([]);
  return receiver;
}

test("lists what waits for each endpoint, what was given up, and the state of its circuit, by origins and IDs", async () => {
  const receiver = await givenUp(30, [HOOK, OTHER]);
  await queue(receiver, { url: OTHER.url, runs: 2 });
  const { endpoints } = await listWebhooks(callerOf(receiver));
  expect(endpoints).toEqual([
    expect.objectContaining({
      ...{ id: idOf(receiver, HOOK.url), to: "https://hooks.example", removedAt: null, waiting: 0, givenUp: 30 },
      circuit: expect.objectContaining({ isOpen: true, why: "it answered 503" }),
    }),
    expect.objectContaining({
      ...{ id: idOf(receiver, OTHER.url), to: "https://other.example", waiting: 2, givenUp: 0, isMore: false },
      circuit: { isOpen: false, failures: 0, since: null, nextAt: null, why: null },
    }),
  ]);
  expect(JSON.stringify(endpoints)).not.toContain("token");
  const [first] = endpoints;
  expect(first?.notifications).toHaveLength(20);
  expect(first?.notifications[0]).toMatchObject({ event: "run.completed", isGivenUp: true, why: "it answered 503" });
});

test("sends again all that was given up, with the IDs that it had, although the circuit was open", async () => {
  const receiver = await givenUp(30);
  const before = new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
  receiver.answers = () => ({ kind: "answered", status: 200 });
  const asked = receiver.received.length;
  const id = idOf(receiver, HOOK.url);
  expect(await redeliver(callerOf(receiver), { endpoint: id, ...ALL })).toEqual({
    ...{ kind: "redelivered", endpoint: id, notifications: 30, isMore: false },
  });
  await receiver.harness.sweep();
  const again = receiver.received.slice(asked).map(({ headers }) => headers["webhook-id"]);
  expect(again).toHaveLength(30);
  expect(new Set([...before, ...again]).size).toBe(30);
  const { endpoints } = await listWebhooks(callerOf(receiver));
  expect(endpoints[0]).toMatchObject({ waiting: 0, givenUp: 0, circuit: { isOpen: false } });
});

test("sends one notification by its ID, and leaves the others given up", async () => {
  const receiver = await givenUp(3);
  receiver.answers = () => ({ kind: "answered", status: 200 });
  const asked = receiver.received.length;
  const { endpoints } = await listWebhooks(callerOf(receiver));
  const notification = endpoints[0]?.notifications[1]?.id ?? "";
  const id = idOf(receiver, HOOK.url);
  expect(await redeliver(callerOf(receiver), { endpoint: id, notification, to: null })).toMatchObject({
    notifications: 1,
  });
  await receiver.harness.sweep();
  expect(receiver.received.slice(asked).map(({ headers }) => headers["webhook-id"])).toEqual([notification]);
  expect((await listWebhooks(callerOf(receiver))).endpoints[0]).toMatchObject({ givenUp: 2 });
});

test("gives what waits ten new attempts, at once", async () => {
  const receiver = withReceiver(createSupervisedHarness(), [HOOK]);
  receiver.answers = () => ({ kind: "answered", status: 503 });
  await queue(receiver, { url: HOOK.url, runs: 1 });
  await receiver.harness.sweep();
  receiver.harness.passTime(RETRY_MS[0]);
  await receiver.harness.sweep();
  expect((await listWebhooks(callerOf(receiver))).endpoints[0]?.notifications[0]).toMatchObject({ attempts: 2 });
  await redeliver(callerOf(receiver), { endpoint: idOf(receiver, HOOK.url), ...ALL });
  await receiver.harness.sweep();
  expect(receiver.received).toHaveLength(3);
  expect((await listWebhooks(callerOf(receiver))).endpoints[0]?.notifications[0]).toMatchObject({ attempts: 1 });
});

test("a request that has moved a notification is answered the same when its sender repeats it", async () => {
  const receiver = withReceiver(createSupervisedHarness(), [HOOK, OTHER]);
  await receiver.harness.sweep();
  await queue(receiver, { url: HOOK.url, runs: 2 });
  const [hook] = (await listWebhooks(callerOf(receiver))).endpoints;
  const asked = { endpoint: idOf(receiver, HOOK.url), notification: hook?.notifications[0]?.id ?? "" };
  const moved = { ...asked, to: idOf(receiver, OTHER.url) };
  const first = await redeliver(callerOf(receiver), moved);
  expect(first).toMatchObject({ kind: "redelivered", notifications: 1 });
  expect(await redeliver(callerOf(receiver), moved)).toEqual(first);
  expect(await redeliver(callerOf(receiver), { ...asked, to: null })).toEqual({ kind: "notificationUnknown" });
});

test("what an endpoint accepts while an operator puts it back is not sent again", async () => {
  const receiver = withReceiver(createSupervisedHarness(), [HOOK]);
  receiver.answers = () => ({ kind: "answered", status: 503 });
  await queue(receiver, { url: HOOK.url, runs: 1 });
  await receiver.harness.sweep();
  receiver.harness.passTime(RETRY_MS[0]);
  receiver.answers = async () => {
    await redeliver(callerOf(receiver), { endpoint: idOf(receiver, HOOK.url), ...ALL });
    return { kind: "answered", status: 200 };
  };
  await receiver.harness.sweep();
  await receiver.harness.sweep();
  expect(receiver.received).toHaveLength(2);
  expect(await outboxOf(receiver.harness)).toEqual([]);
});

test("an endpoint that the config names no longer is said once with its command, and its queue can be moved", async () => {
  const receiver = withReceiver(createSupervisedHarness(), [OTHER]);
  receiver.answers = () => ({ kind: "answered", status: 503 });
  await queue(receiver, { url: OTHER.url, runs: 2 });
  await receiver.harness.sweep();
  const { harness } = receiver;
  const { world } = harness;
  const { webhooks } = world;
  if (webhooks === undefined) throw new Error("there are no webhooks");
  const moved = { ...world, webhooks: { ...webhooks, endpoints: [HOOK] } };
  const [id, to] = [idOf(receiver, OTHER.url), idOf(receiver, HOOK.url)];
  await harness.sweep(moved);
  await harness.sweep(moved);
  const said = harness.alarms.map(({ detail }) => String(detail["why"]));
  expect(said).toEqual([expect.stringContaining(`cairn webhooks redeliver ${id} --to ENDPOINT`)]);
  expect(await removedWebhooks(world, [HOOK])).toEqual([{ id, to: "https://other.example" }]);
  expect(await redeliver(callerOf(receiver), { endpoint: id, ...ALL })).toEqual({ kind: "endpointRemoved" });
  receiver.answers = () => ({ kind: "answered", status: 200 });
  const asked = receiver.received.length;
  expect(await redeliver(callerOf(receiver), { endpoint: id, notification: null, to })).toMatchObject({
    ...{ endpoint: to, notifications: 2 },
  });
  await harness.sweep(moved);
  expect(receiver.received.slice(asked).map(({ url }) => url)).toEqual([HOOK.url, HOOK.url]);
  expect(await removedWebhooks(world, [HOOK])).toEqual([]);
});

test("shows and sends only what is of the caller's tenant, unless it is the operator of the machine", async () => {
  const receiver = withReceiver(createSupervisedHarness(), [HOOK]);
  await receiver.harness.sweep();
  await queue(receiver, { url: HOOK.url, runs: 1 });
  await queue(receiver, { url: HOOK.url, runs: 2, tenant: "acme" });
  const waiting = async (caller: Parameters<typeof listWebhooks>[0]) =>
    (await listWebhooks(caller)).endpoints.map((each) => each.waiting);
  expect(await waiting(callerOf(receiver))).toEqual([1]);
  expect(await waiting(callerOf(receiver, "acme"))).toEqual([2]);
  expect(await waiting({ ...callerOf(receiver), isOperator: true })).toEqual([3]);
  const asked = { endpoint: idOf(receiver, HOOK.url), ...ALL };
  expect(await redeliver(callerOf(receiver, "acme"), asked)).toMatchObject({ notifications: 2 });
});

test("what waits for other tenants does not hide what waits for one", async () => {
  const receiver = withReceiver(createSupervisedHarness(), [HOOK]);
  await receiver.harness.sweep();
  await queue(receiver, { url: HOOK.url, runs: 510 });
  receiver.harness.passTime(1);
  await queue(receiver, { url: HOOK.url, runs: 1, tenant: "acme" });
  const seen = async (tenant: string) => (await listWebhooks(callerOf(receiver, tenant))).endpoints[0];
  expect(await seen("acme")).toMatchObject({ waiting: 1, isMore: false });
  expect(await seen("local")).toMatchObject({ waiting: 500, isMore: true });
  const asked = { endpoint: idOf(receiver, HOOK.url), ...ALL };
  expect(await redeliver(callerOf(receiver, "acme"), asked)).toMatchObject({ notifications: 1, isMore: false });
});

test("a tenant for which nothing is kept leaves the circuit of the others as it is", async () => {
  const receiver = await givenUp(1);
  await queue(receiver, { url: HOOK.url, runs: 6 });
  for (const _ of [1, 2, 3]) {
    await receiver.harness.sweep();
    receiver.harness.passTime(400_000);
  }
  const circuit = async () => (await listWebhooks(callerOf(receiver))).endpoints[0]?.circuit;
  expect(await circuit()).toMatchObject({ isOpen: true });
  const asked = { endpoint: idOf(receiver, HOOK.url), ...ALL };
  expect(await redeliver(callerOf(receiver, "acme"), asked)).toMatchObject({ notifications: 0 });
  expect(await circuit()).toMatchObject({ isOpen: true });
  expect(await redeliver(callerOf(receiver), asked)).toMatchObject({ notifications: 7 });
  expect(await circuit()).toMatchObject({ isOpen: false });
});

test("names an endpoint or a notification that is not there", async () => {
  const receiver = withReceiver(createSupervisedHarness(), [HOOK]);
  await receiver.harness.sweep();
  const endpoint = idOf(receiver, HOOK.url);
  const caller = callerOf(receiver);
  expect(await redeliver(caller, { endpoint: "0123456789abcdef", ...ALL })).toEqual({ kind: "endpointUnknown" });
  expect(await redeliver(caller, { endpoint, ...ALL, to: "0123456789abcdef" })).toEqual({ kind: "endpointUnknown" });
  expect(await redeliver(caller, { endpoint, ...ALL, notification: "msg_none" })).toEqual({
    kind: "notificationUnknown",
  });
});
