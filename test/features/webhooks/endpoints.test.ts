/** Endpoints beside each other: one that is dead holds up no other, and what is urgent goes first. */
import { expect, test } from "vitest";
import { deliveriesOf } from "../../../src/features/webhooks/deliver.ts";
import { queueTo, queuedRecord } from "../../../src/features/webhooks/outbox.ts";
import { UNTRIED } from "../../../src/features/webhooks/route.ts";
import { circuitNow } from "../../../src/features/webhooks/circuits.ts";
import { isOpen } from "../../../src/protocol/webhook-circuit.ts";
import type { Posted, Webhook } from "../../../src/ports/webhooks.ts";
import { approvalAgent } from "../../support/agents/approval-agent.ts";
import { beginRun } from "../../support/harness/drive.ts";
import { scriptedAgent, type Harness, createSupervisedHarness } from "../../support/harness/harness.ts";
import { type Receiver, HOOK, outboxOf, toldBy, withReceiver } from "../../support/runs/webhook-receiver.ts";

const DEAD: Webhook = { ...HOOK, url: "https://dead.example/cairn" };

/** Two endpoints, of which one answers nothing for ten seconds. */
function oneDead(): Receiver<Harness> & { isDead: boolean } {
  const receiver = withReceiver(createSupervisedHarness(), [DEAD, HOOK]);
  const { clock } = receiver.harness;
  const both = Object.assign(receiver, { isDead: true });
  receiver.answers = ({ url }) => {
    if (url !== DEAD.url || !both.isDead) return { kind: "answered", status: 200 };
    return new Promise<Posted>((resolve) => {
      clock.after(10_000, () => resolve({ kind: "unreachable", why: "no answer in 10 s" }));
    });
  };
  return both;
}

async function complete({ harness }: Receiver<Harness>, runs: number): Promise<void> {
  const agent = scriptedAgent({});
  for (let index = 0; index < runs; index += 1) {
    const { run } = await beginRun(harness.world, agent, {});
    await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified });
  }
}

async function askForApproval({ harness }: Receiver<Harness>): Promise<void> {
  const agent = approvalAgent();
  const { run } = await beginRun(harness.world, agent, {});
  await harness.driveUntil({ agent, run, until: ({ status, park }) => status === "waiting" && park !== null });
}

const toUrl = (receiver: Receiver<Harness>, url: string) =>
  toldBy(receiver.received.filter((post) => post.url === url));

const circuitOf = ({ harness: { world } }: Receiver<Harness>, url: string) => circuitNow(world, queueTo(world, url));

/** Notifications of runs that have completed before, in the queue of each endpoint. */
async function queueCompleted({ harness: { world } }: Receiver<Harness>, runs: number): Promise<void> {
  const now = world.clock.now();
  for (let index = 0; index < runs; index += 1) {
    const of = { run: `local-${index}`, born: "born", agent: "actor", epoch: 1, version: 3, place: 0, ...UNTRIED };
    const notification = { kind: "run.completed", at: now } as const;
    for (const { url } of [DEAD, HOOK]) {
      const body = { stage: "queued", ...of, notification, url } as const;
      await world.records.add(queuedRecord(queueTo(world, url), body, { tenant: "local", now }), now);
    }
  }
}

test("a dead endpoint holds up no other: an approval is asked for before 1,000 runs that completed earlier", async () => {
  const receiver = oneDead();
  const { harness } = receiver;
  await queueCompleted(receiver, 998);
  await complete(receiver, 2);
  await askForApproval(receiver);
  const round = deliveriesOf(harness.world, () => harness.invocation())();
  // No time passes: the requests to the dead endpoint are still open.
  await expect.poll(() => toUrl(receiver, HOOK.url).length).toBe(1_001);
  const before = toUrl(receiver, HOOK.url).findIndex(({ type }) => type === "approval.requested");
  expect(before).toBe(0);
  harness.passTime(10_000);
  await round;
  expect(toUrl(receiver, DEAD.url)).toHaveLength(8);
  expect(isOpen(await circuitOf(receiver, DEAD.url))).toBe(true);
  expect(isOpen(await circuitOf(receiver, HOOK.url))).toBe(false);
  harness.passTime(10_000);
  await harness.sweep();
  // The first probe is the notification for which a human waits.
  expect(
    toUrl(receiver, DEAD.url)
      .slice(8)
      .map(({ type }) => type),
  ).toEqual(["approval.requested"]);
});

test("what comes while an endpoint does not answer reaches the others at once", async () => {
  const receiver = oneDead();
  const { harness } = receiver;
  await complete(receiver, 3);
  const round = deliveriesOf(harness.world, () => harness.invocation());
  const first = round();
  await expect.poll(() => toUrl(receiver, HOOK.url).length).toBe(3);
  await askForApproval(receiver);
  const second = round();
  // No time has passed: the requests to the dead endpoint are still open.
  await expect.poll(() => toUrl(receiver, HOOK.url).at(-1)?.type).toBe("approval.requested");
  expect(toUrl(receiver, DEAD.url)).toHaveLength(3);
  await harness.advanceUntilSettled(Promise.all([first, second]));
});

test("an open circuit outlives its process, sends single probes, and lets everything pass after the first answer", async () => {
  const receiver = oneDead();
  const { harness } = receiver;
  await queueCompleted(receiver, 30);
  await harness.sweep();
  const asked = toUrl(receiver, DEAD.url).length;
  // Another process, at once: the circuit is in the store.
  await harness.sweep({ ...harness.world });
  expect(toUrl(receiver, DEAD.url)).toHaveLength(asked);
  harness.passTime(300_000);
  await harness.sweep();
  expect(toUrl(receiver, DEAD.url)).toHaveLength(asked + 1);
  expect(harness.alarms.map(({ detail }) => detail["why"])).toEqual([
    expect.stringMatching(
      /^8 requests to https:\/\/dead\.example failed one after the other: no answer in 10 s; until/,
    ),
  ]);
  receiver.isDead = false;
  harness.passTime(300_000);
  await harness.sweep();
  // Those that had failed wait no longer for their own pauses.
  expect(new Set(toUrl(receiver, DEAD.url).map(({ id }) => id)).size).toBe(30);
  expect(await outboxOf(harness)).toEqual([]);
  expect(isOpen(await circuitOf(receiver, DEAD.url))).toBe(false);
});

test("what has just failed waits for no pause of its own after the first answer", async () => {
  const receiver = oneDead();
  const { harness } = receiver;
  await queueCompleted(receiver, 12);
  await harness.sweep();
  const probe = async (): Promise<void> => {
    const { nextAt } = await circuitOf(receiver, DEAD.url);
    harness.passTime(Math.max(0, nextAt - harness.clock.now()));
    await harness.sweep();
  };
  await probe();
  await probe();
  receiver.isDead = false;
  await probe();
  expect(await outboxOf(harness)).toEqual([]);
});

test("gives up what a dead endpoint has not accepted for days, attempted or not", async () => {
  const receiver = oneDead();
  const { harness } = receiver;
  await queueCompleted(receiver, 30);
  await harness.sweep();
  harness.passTime(70 * 3_600_000);
  await harness.sweep();
  expect(await outboxOf(harness)).toEqual([]);
  expect(harness.alarms.filter(({ what }) => what === "WebhookUndelivered")).toHaveLength(30);
});

test("an endpoint that takes one request a second loses nothing: what the circuit lets pass early counts as no attempt", async () => {
  const receiver = withReceiver(createSupervisedHarness(), [HOOK]);
  const { harness } = receiver;
  const { clock } = harness;
  let freeAt = 0;
  receiver.answers = () => {
    const isFree = clock.now() >= freeAt;
    if (isFree) freeAt = clock.now() + 1_000;
    return { kind: "answered", status: isFree ? 200 : 429 };
  };
  await queueCompleted(receiver, 40);
  for (let rounds = 0; rounds < 60; rounds += 1) {
    await harness.sweep();
    harness.passTime(15_000);
  }
  expect(harness.alarms.filter(({ what }) => what === "WebhookUndelivered")).toEqual([]);
  expect(toUrl(receiver, HOOK.url).length).toBeGreaterThan(20);
});
