/** Deliveries of the outbox: retries, giving up, and what a removed run still tells. */
import { expect, test } from "vitest";
import { Webhook as Receiving } from "standardwebhooks";
import { readAudit } from "../../../src/operations/access/audit.ts";
import { RETRY_MS } from "../../../src/features/webhooks/endpoint.ts";
import { traceOfRun } from "../../../src/engine/context/trace.ts";
import type { StoredRecord } from "../../../src/ports/records.ts";
import type { Secrets } from "../../../src/ports/secrets.ts";
import { StoreUnreachable } from "../../../src/ports/world.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { waitingAgent } from "../../support/agents/waiting-agent.ts";
import { beginRun } from "../../support/harness/drive.ts";
import { scriptedAgent, type Harness, createSupervisedHarness } from "../../support/harness/harness.ts";
import { HOOK, HOOK_KEY, outboxOf, toldBy, withReceiver } from "../../support/runs/webhook-receiver.ts";
import { PURGE } from "../../../src/protocol/row-removal.ts";

const ended = async (harness: Harness, agent: Agent = scriptedAgent({})): Promise<string> => {
  const { run } = await beginRun(harness.world, agent, {});
  await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified });
  return run;
};

test("signs each request so that a receiver of the specification verifies it", async () => {
  const { harness, received } = withReceiver(createSupervisedHarness(), [
    { ...HOOK, link: "https://ops.example/{run}" },
  ]);
  const run = await ended(harness);
  await harness.sweep();
  const [post] = received;
  const receiving = new Receiving(HOOK_KEY);
  const headers = { ...post?.headers };
  // The library compares the timestamp with its own clock; the test moves ours.
  const sentAt = Number(headers["webhook-timestamp"]);
  expect(sentAt).toBe(Math.floor(harness.clock.now() / 1_000));
  const signature = receiving.sign(headers["webhook-id"] ?? "", new Date(sentAt * 1_000), post?.body ?? "");
  expect(headers["webhook-signature"]).toBe(signature);
  const { traceparent } = traceOfRun(harness.world, harness.row(run));
  expect(headers["traceparent"]).toBe(traceparent);
  expect(JSON.parse(post?.body ?? "")).toEqual({
    type: "run.completed",
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    data: {
      ...{ run, incarnation: expect.any(String), agent: "actor", tenant: "local", version: expect.any(Number) },
      link: `https://ops.example/${run}`,
    },
  });
});

test("tells of a failure with its code, of a question, and of nothing that a model or a human wrote", async () => {
  const { harness, received } = withReceiver(createSupervisedHarness());
  const agent = waitingAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  await harness.driveUntil({ agent, run, until: ({ park }) => park !== null });
  await harness.sweep();
  expect(toldBy(received)).toEqual([
    expect.objectContaining({ type: "question.asked", said: expect.objectContaining({ run, call: "c1" }) }),
  ]);
  const failing = scriptedAgent({
    reply: () => {
      throw new Error("the very text");
    },
  });
  const failed = await ended(harness, failing);
  await harness.sweep();
  const told = toldBy(received).find(({ type }) => type === "run.failed");
  expect(told?.said).toMatchObject({ run: failed, code: expect.any(String) });
  expect(JSON.stringify(received)).not.toContain("the very text");
  expect(JSON.stringify(received)).not.toContain("Is it right?");
});

test("sends again with growing pauses, then gives up by name in the audit log", async () => {
  const receiver = withReceiver(createSupervisedHarness());
  const { harness, received } = receiver;
  receiver.answers = () => ({ kind: "answered", status: 503 });
  const run = await ended(harness);
  await harness.sweep();
  for (const [index, waitMs] of RETRY_MS.entries()) {
    harness.passTime(waitMs - 1);
    await harness.sweep();
    expect(received).toHaveLength(index + 1);
    harness.passTime(1);
    await harness.sweep();
    expect(received).toHaveLength(index + 2);
  }
  expect(await outboxOf(harness)).toEqual([]);
  expect(new Set(toldBy(received).map(({ id }) => id)).size).toBe(1);
  const query = { tenant: "local", run, actor: null, since: null, after: null };
  expect((await readAudit(harness.world, query)).entries).toMatchObject([
    {
      ...{ run, operation: "webhook", actor: "cairn", outcome: "undelivered", why: "it answered 503" },
      details: { event: "run.completed", to: "https://hooks.example", attempts: RETRY_MS.length + 1 },
    },
  ]);
  const undelivered = harness.alarms.find(({ what }) => what === "WebhookUndelivered");
  expect(JSON.stringify(undelivered)).toContain(
    `did not reach https://hooks.example with attempt ${RETRY_MS.length + 1}, its last: it answered 503`,
  );
});

test("gives up at once where the endpoint is gone, and sends nothing to one that the config names no more", async () => {
  const receiver = withReceiver(createSupervisedHarness());
  const { harness, received } = receiver;
  receiver.answers = () => ({ kind: "answered", status: 410 });
  await ended(harness);
  await harness.sweep();
  expect({ received: received.length, outbox: (await outboxOf(harness)).length }).toEqual({ received: 1, outbox: 0 });
  receiver.answers = () => ({ kind: "unreachable", why: "no answer" });
  await ended(harness);
  await harness.sweep();
  const post = async (): Promise<never> => expect.fail("it has no endpoint");
  const world = { ...harness.world, webhooks: { endpoints: [], post, noted: () => undefined } };
  harness.passTime(RETRY_MS[0]);
  await harness.sweep(world);
  expect(received).toHaveLength(2);
});

test("does not send without a key, and says which secret lacks one", async () => {
  const { harness, received } = withReceiver(createSupervisedHarness(), [{ ...HOOK, secret: "OTHER" }]);
  const run = await ended(harness);
  for (const waitMs of [0, ...RETRY_MS]) {
    harness.passTime(waitMs);
    await harness.sweep();
  }
  expect(received).toEqual([]);
  const query = { tenant: "local", run, actor: null, since: null, after: null };
  const [entry] = (await readAudit(harness.world, query)).entries;
  expect(entry?.why).toContain("the secret OTHER");
  // Said with the first attempt, when the circuit opens, and when nothing more is tried.
  expect(harness.alarms.map(({ what }) => what)).toEqual(["WebhookFailed", "WebhookFailed", "WebhookUndelivered"]);
  expect(harness.alarms[0]?.detail["why"]).toMatch(/are not sent: the secret OTHER, which signs it, is not set/);
});

test("a signing secret that cannot be read holds back its own endpoint alone", async () => {
  const other = { ...HOOK, url: "https://other.example", secret: "LOST" };
  const { harness, received } = withReceiver(createSupervisedHarness(), [other, HOOK]);
  const { secrets } = harness.world;
  const get: Secrets["get"] = async (name) => {
    if (name === "LOST") throw new StoreUnreachable("its key is disabled", { store: "the secrets" });
    return secrets.get(name);
  };
  const world = { ...harness.world, secrets: { ...secrets, get } };
  await ended(harness);
  for (const waitMs of [0, ...RETRY_MS]) {
    harness.passTime(waitMs);
    await harness.sweep(world);
  }
  expect(received.map(({ url }) => url)).toEqual([HOOK.url]);
  expect(await outboxOf(harness)).toEqual([]);
  expect(harness.alarms.map(({ what }) => what)).toContain("WebhookUndelivered");
});

test("tells the end of a run that was purged before anyone delivered it", async () => {
  const { harness, received } = withReceiver(createSupervisedHarness());
  const run = await ended(harness);
  const { born } = harness.world.store.rows.get(run) ?? { born: "" };
  expect(await harness.world.table.decide({ run, born, now: harness.clock.now() }, PURGE)).toMatchObject({
    kind: "purged",
  });
  await harness.sweep();
  expect(toldBy(received)).toEqual([expect.objectContaining({ type: "run.completed" })]);
});

test("one entry that cannot be read stops no other", async () => {
  const { harness, received } = withReceiver(createSupervisedHarness());
  await harness.world.records.add(
    { kind: "webhook", about: "outbox bulk", id: "0.damaged", tenant: "local", at: 0, body: {}, expiresAtSec: null },
    harness.clock.now(),
  );
  await ended(harness);
  await harness.sweep();
  expect(received).toHaveLength(1);
  expect(harness.alarms.map(({ what }) => what)).toEqual(["Unreadable"]);
});

test("damaged entries hold back no other, on their page or behind it, and each pass names them", async () => {
  const { harness, received } = withReceiver(createSupervisedHarness());
  const { records } = harness.world.store;
  const key = { kind: "webhook", about: "outbox urgent" } as const;
  // More than a page, before the entry of the run.
  const ids = Array.from({ length: 17 }, (_, n) => `9.zulu-${n}.born.1.1`);
  for (const id of ids)
    records.set(id, { ...key, id, tenant: "local", at: 0, expiresAtSec: null, version: 1 } as unknown as StoredRecord);
  await ended(harness);
  for (const passes of [1, 2]) {
    await harness.sweep();
    expect(received).toHaveLength(1);
    expect(harness.alarms).toHaveLength(17 * passes);
  }
  expect(harness.alarms.map(({ run }) => run)).toContain("zulu-16");
  expect(harness.alarms[0]?.detail["why"]).toMatch(/^a notification is not delivered: the entry 9\.zulu-\d+\.born/);
});
