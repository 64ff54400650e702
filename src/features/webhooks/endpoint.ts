/**
 * Works off the queue of one endpoint: each notification at least once, always under the same ID. The ID derives from
 * the version of the run, so a receiver recognises a repeated one. The lease of the queue and its circuit belong to
 * this endpoint alone, so what it holds up are its own notifications.
 *
 * Schedule 191: a process is killed after an endpoint has acknowledged a request and before the entry says so. The next
 * delivery sends the same request again. If the entry were changed first, a death before the request would lose it.
 *
 * Schedule 281: a process puts an urgent notification into the queue while another one holds its lease and is about to
 * give it up. The first one finds the lease held, and the second one has read the queue. So who gives the lease up
 * reads the queue once more; else the notification would wait for the next sweep.
 */
import type { Json } from "../../core/json.ts";
import { alarm } from "../../history/alarm.ts";
import { type QueuedNotification, queueTo, queuedIn, undeliveredTo } from "./outbox.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import { circuitNow } from "./circuits.ts";
import { replaceEntry, settleDelivered, settleEntry } from "./queues.ts";
import type { AddOutcome, StoredRecord, NewRecord } from "../../ports/records.ts";
import type { Invocation } from "../../ports/tasks.ts";
import type { Webhook, Webhooks } from "../../ports/webhooks.ts";
import { type World, StoreUnreachable } from "../../ports/world.ts";
import { notificationId, timeText } from "../../protocol/ids.ts";
import { type WebhookCircuit, circuitAfter, isOpen } from "../../protocol/webhook-circuit.ts";
import { isTimeLeft, underMutexLease } from "../../history/mutex-lease.ts";
import { OutboxReader } from "./outbox-reader.ts";
import { webhookBody, webhookHeaders, webhookKey } from "../../codec/webhook-message.ts";
import { readerIn } from "../../history/secrets.ts";
import type { NotificationKind } from "../../core/notifications.ts";

/** Milliseconds before each further attempt: ten attempts in two and a half days. */
export const RETRY_MS = [5e3, 30e3, 300e3, 1_800e3, 7_200e3, 18_000e3, 36_000e3, 50_400e3, 86_400e3] as const;

/** What is this old is given up, if the endpoint has accepted nothing for as long. */
const GIVEN_UP_MS = 66 * 3_600_000;

/** Requests to one endpoint at a time. */
const SIDE_BY_SIDE = 8;

interface Endpoint {
  readonly webhooks: Webhooks;
  readonly webhook: Webhook;
  readonly invocation: Invocation;
}

/** Sends what is due. Returns whether another invocation has to go on with it. */
export async function deliverQueue(world: World, endpoint: Endpoint): Promise<boolean> {
  const { webhook, invocation } = endpoint;
  if (!isTimeLeft(world, invocation)) return false;
  const queue = queueTo(world, webhook.url);
  const reader = new OutboxReader(world, queue);
  while (isTimeLeft(world, invocation)) {
    // Before the lease, so that an idle endpoint costs two reads and no write. Under the lease the queue is read again: who
    // held it until then may have delivered what this reading found.
    if ((await reader.first(1, () => true)).length === 0) return false;
    if ((await nextIn(world, reader, await circuitNow(world, queue))).length === 0) return false;
    const isMine = await underMutexLease(world, invocation, {
      name: queue,
      keepsCursor: true,
      work: async (cursor, { hasTime, reached }) => {
        let circuit = await circuitNow(world, queue, cursor);
        reached(cursor);
        while (hasTime()) {
          const records = await nextIn(world, reader, circuit);
          if (records.length === 0) return;
          const after = await deliverAll(world, { ...endpoint, reader, circuit, records });
          if (after !== circuit) reached(JSON.stringify(after));
          circuit = after;
        }
      },
    });
    if (!isMine) return false;
  }
  return true;
}

async function nextIn(world: World, reader: OutboxReader, circuit: WebhookCircuit): Promise<readonly StoredRecord[]> {
  const now = world.clock.now();
  if (isOpen(circuit) && now < circuit.nextAt) return [];
  return reader.first(isOpen(circuit) ? 1 : SIDE_BY_SIDE, (record) => isDue(record, circuit, now));
}

function isDue(record: StoredRecord, circuit: WebhookCircuit, now: number): boolean {
  const { attempts, triedAt } = queuedSafely(record);
  const waitMs = RETRY_MS[attempts - 1] ?? 0;
  return triedAt + waitMs <= now || triedAt < circuit.recoveredAt || isOverdue(record, circuit, now);
}

/** An entry that cannot be read is due: its work says so. */
function queuedSafely(record: StoredRecord): Pick<QueuedNotification, "attempts" | "triedAt"> {
  try {
    return queuedIn(record);
  } catch {
    return { attempts: 0, triedAt: 0 };
  }
}

const isOverdue = ({ at }: StoredRecord, circuit: WebhookCircuit, now: number): boolean =>
  isOpen(circuit) && Math.max(at, circuit.since) < now - GIVEN_UP_MS;

interface Batch extends Endpoint {
  readonly reader: OutboxReader;
  readonly circuit: WebhookCircuit;
  readonly records: readonly StoredRecord[];
}

/** Returns the circuit after the attempts. */
async function deliverAll(world: World, batch: Batch): Promise<WebhookCircuit> {
  const { webhook, reader, circuit, records } = batch;
  const tried = await Promise.all(records.map((record) => reader.guarded(record, () => deliver(world, batch, record))));
  const failed = tried.filter((sent) => sent !== null && sent !== "delivered" && sent !== "overdue");
  const succeeded = tried.filter((sent) => sent === "delivered").length;
  const last = failed.at(-1);
  const why = typeof last === "object" && last !== null ? last.why : null;
  const after = circuitAfter(circuit, { failed: failed.length, succeeded, why, now: world.clock.now() });
  if (isOpen(after) && !isOpen(circuit)) {
    const to = new URL(webhook.url).origin;
    const words = `${after.failures} requests to ${to} failed one after the other: ${why}`;
    alarm(world, "", { what: "WebhookFailed", why: `${words}; until it answers, one notification at a time tries it` });
  }
  return after;
}

/** `overdue`: it is given up without an attempt. */
async function deliver(world: World, batch: Batch, record: StoredRecord): Promise<PostOutcome | "overdue"> {
  const { webhooks, webhook, circuit } = batch;
  const queued = queuedIn(record);
  const { run, born, version, place, attempts } = queued;
  const id = notificationId(world.hash, { run, born, version, place });
  const triedAt = world.clock.now();
  if (isOverdue(record, circuit, triedAt)) {
    await giveUp(world, { record, id, queued: { ...queued, why: queued.why ?? circuit.why } });
    return "overdue";
  }
  const sent = await sendNotification(world, { webhooks, webhook, tenant: record.tenant, queued, id });
  if (sent === "delivered") {
    await settleDelivered(world, record);
    return sent;
  }
  const { why } = sent;
  // An operator has to set the secret: said with the first attempt, and not only after the last one.
  if (sent.isUnsigned === true && attempts === 0) {
    const words = `notifications to ${new URL(webhook.url).origin} are not sent: ${why}; cairn tries again`;
    alarm(world, run, { what: "WebhookFailed", why: words });
  }
  // Before its own pause was over, because the circuit had closed: it counts as no attempt of two and a half days.
  const isEarly = attempts > 0 && triedAt < queued.triedAt + (RETRY_MS[attempts - 1] ?? 0);
  const counted = attempts + (isEarly ? 0 : 1);
  const tried: QueuedNotification = { ...queued, attempts: counted, triedAt: world.clock.now(), why };
  if (sent.isFinal || tried.attempts > RETRY_MS.length) await giveUp(world, { record, id, queued: tried });
  else await replaceEntry(world, { ...record, body: tried as unknown as Json });
  return sent;
}

/** Keeps the notification aside, where an operator finds it, and says so. */
async function giveUp(
  world: World,
  {
    record,
    id,
    queued,
  }: {
    readonly record: StoredRecord;
    readonly id: string;
    readonly queued: QueuedNotification;
  },
): Promise<void> {
  const { run, url, attempts, why, notification } = queued;
  const { kind, at } = notification;
  const said = { id, run, tenant: record.tenant, url, kind, at, attempts, why: why ?? "it did not answer" };
  await recordUndelivered(world, said);
  const kept = { ...record, about: undeliveredTo(queueTo(world, url)), body: queued as unknown as Json };
  await resolveAmbiguousWrite<AddOutcome>(
    () => world.records.add(kept, world.clock.now()),
    () => null,
  );
  await settleEntry(world, record);
}

const TIMEOUT_MS = 10_000;

/** The endpoint says that it is gone: another attempt is of no use. */
const GONE = 410;

type PostOutcome =
  | "delivered"
  | {
      readonly why: string;
      readonly isFinal: boolean;
      /** Its secret is missing or is no key. */
      readonly isUnsigned?: true;
    };

/** One request with one notification to its endpoint. */
async function sendNotification(
  world: World,
  {
    webhooks,
    webhook,
    tenant,
    queued,
    id,
  }: {
    readonly webhooks: Webhooks;
    readonly webhook: Webhook;
    readonly tenant: string;
    readonly queued: QueuedNotification;
    /** The ID of the notification. */
    readonly id: string;
  },
): Promise<PostOutcome> {
  const { run, born, agent, version, traceparent, notification } = queued;
  const secret = await keyOf(world, webhook);
  if (secret === UNREAD)
    return { why: `the secret ${webhook.secret}, which signs it, cannot be read now`, isFinal: false };
  const key = secret === null ? null : webhookKey(secret);
  if (key === null) return { why: secretWords(webhook.secret, secret !== null), isFinal: false, isUnsigned: true };
  const link = webhook.link?.replaceAll("{run}", encodeURIComponent(run)) ?? null;
  const body = webhookBody({ incarnation: { run, born }, agent, tenant, version, notification, link });
  const headers = { ...webhookHeaders({ id, at: world.clock.now(), body, key }), ...(traceparent && { traceparent }) };
  const posted = await webhooks.post({ url: webhook.url, headers, body, timeoutMs: TIMEOUT_MS });
  if (posted.kind === "unreachable") return { why: posted.why, isFinal: false };
  if (posted.status >= 200 && posted.status < 300) return "delivered";
  return { why: `it answered ${posted.status}`, isFinal: posted.status === GONE };
}

const UNREAD = Symbol("unread");

/** A secret that cannot be read is a failed attempt of its own endpoint: the requests to others have left already. */
async function keyOf(world: World, { secret }: Webhook): Promise<string | null | typeof UNREAD> {
  try {
    return await readerIn(world)(secret);
  } catch (error) {
    if (error instanceof StoreUnreachable) return UNREAD;
    throw error;
  }
}

const secretWords = (name: string, isSet: boolean): string =>
  isSet
    ? `the secret ${name} is no key of the form whsec_BASE64, such as printf whsec_ && openssl rand -base64 32 makes`
    : `the secret ${name}, which signs it, is not set`;

interface Undelivered {
  /** The ID of the notification. */
  readonly id: string;
  readonly run: string;
  readonly tenant: string;
  readonly url: string;
  readonly kind: NotificationKind;
  /** When it happened, epoch milliseconds. */
  readonly at: number;
  readonly attempts: number;
  readonly why: string;
}

/**
 * Records a notification that no further attempt will deliver: in the audit log of its run, and as an alarm. IDs in the
 * audit log sort by time. The rest derives from the notification, so a repeated call adds nothing.
 */
async function recordUndelivered(
  world: World,
  { id, run, tenant, url, kind, at, attempts, why }: Undelivered,
): Promise<void> {
  // A path may hold a token of the receiver.
  const to = new URL(url).origin;
  const record: NewRecord = {
    ...({ kind: "audit", about: run, tenant, at } as const),
    id: `${timeText(at)}-${world.hash(`${id} ${url}`).slice(0, 16)}`,
    expiresAtSec: Math.ceil((world.clock.now() + world.limits.auditMs) / 1_000),
    body: {
      operation: "webhook",
      actor: "cairn",
      token: null,
      from: null,
      run,
      details: { event: kind, id, to, attempts },
      why,
      outcome: "undelivered",
    },
  };
  await resolveAmbiguousWrite<AddOutcome>(
    () => world.records.add(record, world.clock.now()),
    () => null,
  );
  const what = `the notification ${kind} (${id}) did not reach ${to} with attempt ${attempts}, its last: ${why}`;
  alarm(world, run, { what: "WebhookUndelivered", why: what });
}
