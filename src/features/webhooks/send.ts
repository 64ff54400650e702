/** One request with one notification to its endpoint. */
import { webhookBody, webhookHeaders, webhookKey } from "../../codec/webhook-message.ts";
import { readerIn } from "../../history/secrets.ts";
import type { QueuedNotification } from "./outbox.ts";
import type { Webhook, Webhooks } from "../../ports/webhooks.ts";
import { StoreUnreachable, type World } from "../../ports/world.ts";

const TIMEOUT_MS = 10_000;

/** The endpoint says that it is gone: another attempt is of no use. */
const GONE = 410;

export type PostOutcome =
  | "delivered"
  | {
      readonly why: string;
      readonly isFinal: boolean;
      /** Its secret is missing or is no key. */
      readonly isUnsigned?: true;
    };

export async function sendNotification(
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
