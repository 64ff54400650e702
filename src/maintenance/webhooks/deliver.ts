/**
 * Delivers the entries of the outbox: each notification to each endpoint that wants it, at least once, always under the
 * same ID. The ID derives from the version of the run, so a receiver recognises a repeated one.
 *
 * Schedule 191: a process is killed after an endpoint has acknowledged a request and before the entry says so. The next
 * delivery sends the same request again. If the entry were changed first, a death before the request would lose it.
 */
import { Unreadable } from "../../codec/canonical.ts";
import { sentenceOf } from "../../codec/value.ts";
import { webhookBody, webhookHeaders, webhookKey } from "../../codec/webhook-message.ts";
import { alarm } from "../../history/alarm.ts";
import { type Delivery, type EntryIn, OUTBOX, outboxEntryIn } from "../../history/outbox.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import { readerIn } from "../../history/secrets.ts";
import type { Json } from "../../core/json.ts";
import type { ReplaceOutcome, StoredRecord } from "../../ports/records.ts";
import type { Invocation } from "../../ports/tasks.ts";
import type { Webhook, Webhooks } from "../../ports/webhooks.ts";
import { StoreUnreachable, type World } from "../../ports/world.ts";
import { notificationId } from "../../protocol/ids.ts";
import { withMutexLease } from "../mutex-lease.ts";
import { confirmNoted } from "./confirm.ts";
import { recordUndelivered } from "./undelivered.ts";

/** Milliseconds before each further attempt: ten attempts in two and a half days. */
export const RETRY_MS = [5e3, 30e3, 300e3, 1_800e3, 7_200e3, 18_000e3, 36_000e3, 50_400e3, 86_400e3] as const;

const ENTRIES = 16;
const TIMEOUT_MS = 10_000;

/** The endpoint says that it is gone: another attempt is of no use. */
const GONE = 410;

/** Delivers what is due. Does nothing where no webhook is configured, or while another process delivers. */
export async function deliverNotifications(world: World, invocation: Invocation): Promise<void> {
  const { webhooks } = world;
  if (webhooks === undefined) return;
  await withMutexLease(world, invocation, {
    name: "webhooks",
    next: async (after, { reached }) => {
      const { clock, records } = world;
      const query = { kind: "webhook", by: { about: OUTBOX }, after, limit: ENTRIES, now: clock.now() } as const;
      const page = await records.list(query);
      // An entry that fails holds back no later page.
      reached(page.next);
      for (const { id, why } of page.damaged) {
        const what = `a notification is not delivered: the entry ${id} of the outbox is damaged: ${why}`;
        alarm(world, runIn(id), { what: "Unreadable", why: what });
      }
      await Promise.all(page.records.map((record) => guarded(world, record, () => deliver(world, webhooks, record))));
      return page.next;
    },
  });
}

/** An entry that cannot be delivered does not stop the others. A store that does not answer stops all. */
async function guarded(world: World, { id }: StoredRecord, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof StoreUnreachable) throw error;
    const what = error instanceof Unreadable ? "Unreadable" : "WebhookFailed";
    alarm(world, runIn(id), { what, why: `a notification is not delivered: ${sentenceOf(error)}` });
  }
}

/** The run that the ID of an entry names. */
const runIn = (id: string): string => id.slice(0, id.indexOf("."));

async function deliver(world: World, webhooks: Webhooks, record: StoredRecord): Promise<void> {
  const entry = outboxEntryIn(record);
  const confirmed = entry.stage === "noted" ? await confirmEntry(world, webhooks, entry) : entry;
  if (confirmed === "waits") return;
  if (confirmed === "void") return settle(world, record);
  const now = world.clock.now();
  const due = confirmed.deliveries.filter(({ nextAt }) => nextAt <= now);
  if (due.length === 0 && confirmed.deliveries.length > 0) return;
  const tried = await Promise.all(due.map((each) => attempt(world, { webhooks, record, entry: confirmed, each })));
  const later = confirmed.deliveries.filter(({ nextAt }) => nextAt > now);
  const deliveries = [...later, ...tried.flatMap((each) => each ?? [])];
  if (deliveries.length === 0) return settle(world, record);
  await replace(world, { ...record, body: { ...confirmed, deliveries } as unknown as Json });
}

/** The entry with its deliveries, once the log has confirmed its commit. */
async function confirmEntry(
  world: World,
  { endpoints }: Webhooks,
  noted: EntryIn<"noted">,
): Promise<EntryIn<"confirmed"> | "waits" | "void"> {
  const confirmed = await confirmNoted(world, noted);
  if (confirmed.kind !== "confirmed") return confirmed.kind;
  const { end: _, ...ofCommit } = noted;
  const notifications = [...confirmed.notifications];
  const deliveries = notifications.flatMap(({ kind }, index) =>
    endpoints
      .filter(({ events, agents }) => events.includes(kind) && (agents === undefined || agents.includes(noted.agent)))
      .map(({ url }) => ({ notification: index, url, attempts: 0, nextAt: 0 })),
  );
  return { ...ofCommit, stage: "confirmed", notifications, deliveries };
}

interface Trying {
  readonly webhooks: Webhooks;
  readonly record: StoredRecord;
  readonly entry: EntryIn<"confirmed">;
  readonly each: Delivery;
}

/** One request. Returns what is left to do; null: nothing, since it is delivered or given up. */
async function attempt(world: World, trying: Trying): Promise<Delivery | null> {
  const { webhooks, record, entry, each } = trying;
  const webhook = webhooks.endpoints.find(({ url }) => url === each.url);
  // The config names the endpoint no more.
  if (webhook === undefined) return null;
  const { run, born, version } = entry;
  const id = notificationId(world.hash, { run, born, version, place: each.notification });
  const said = await send(world, { ...trying, webhook, id });
  if (said === "delivered") return null;
  const attempts = each.attempts + 1;
  // An operator has to set the secret: said with the first attempt, and not only after the last one.
  if (said.isUnsigned === true && each.attempts === 0) {
    const why = `notifications to ${new URL(each.url).origin} are not sent: ${said.why}; cairn tries again`;
    alarm(world, run, { what: "WebhookFailed", why });
  }
  const waitMs = said.isFinal ? undefined : RETRY_MS[each.attempts];
  if (waitMs !== undefined) return { ...each, attempts, nextAt: world.clock.now() + waitMs };
  const { kind = "run.failed", at = record.at } = entry.notifications[each.notification] ?? {};
  await recordUndelivered(world, { id, run, tenant: record.tenant, url: each.url, kind, at, attempts, why: said.why });
  return null;
}

async function send(
  world: World,
  { webhooks, webhook, record, entry, each, id }: Trying & { readonly webhook: Webhook; readonly id: string },
): Promise<"delivered" | { readonly why: string; readonly isFinal: boolean; readonly isUnsigned?: true }> {
  const { run, born, agent, version } = entry;
  const notification = entry.notifications[each.notification];
  if (notification === undefined) return "delivered";
  const secret = await keyOf(world, webhook);
  if (secret === UNREAD)
    return { why: `the secret ${webhook.secret}, which signs it, cannot be read now`, isFinal: false };
  const key = secret === null ? null : webhookKey(secret);
  if (key === null) return { why: secretWords(webhook.secret, secret !== null), isFinal: false, isUnsigned: true };
  const link = webhook.link?.replaceAll("{run}", encodeURIComponent(run)) ?? null;
  const body = webhookBody({ incarnation: { run, born }, agent, tenant: record.tenant, version, notification, link });
  const headers = webhookHeaders({ id, at: world.clock.now(), body, key });
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

/** An entry that has expired is absent at once, and the store deletes it some time later. */
const settle = (world: World, record: StoredRecord): Promise<void> =>
  replace(world, { ...record, expiresAtSec: Math.floor(world.clock.now() / 1_000) });

/** `changed`: another process delivers this entry, and its record counts. */
async function replace(world: World, record: StoredRecord): Promise<void> {
  await resolveAmbiguousWrite<ReplaceOutcome>(
    () => world.records.replace(record, world.clock.now()),
    () => null,
  );
}
