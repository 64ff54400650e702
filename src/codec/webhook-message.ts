/**
 * A webhook as bytes: its body, and its headers by the Standard Webhooks specification, which are signed with HMAC-SHA256.
 */
import { createHmac } from "node:crypto";
import type { RunNotification } from "../core/notifications.ts";
import type { Incarnation } from "../protocol/row.ts";

/** A key as the specification writes it: a prefix, then 24 to 64 bytes in base64. */
const SECRET = /^whsec_([A-Za-z0-9+/]{32,86}={0,2})$/;
const KEY_BYTES = { min: 24, max: 64 } as const;

/** The key in the text of a secret; null if it is of another form. */
export function webhookKey(secret: string): Buffer | null {
  const [, text = ""] = SECRET.exec(secret.trim()) ?? [];
  const key = Buffer.from(text, "base64");
  return key.byteLength < KEY_BYTES.min || key.byteLength > KEY_BYTES.max ? null : key;
}

/** The body: IDs, a code, and a link. What a human, a model or a tool wrote stays with the run. */
export function webhookBody({
  incarnation,
  agent,
  tenant,
  version,
  notification,
  link,
}: {
  readonly incarnation: Incarnation;
  readonly agent: string;
  readonly tenant: string;
  readonly version: number;
  readonly notification: RunNotification;
  readonly link: string | null;
}): string {
  const { kind, at, ...ids } = notification;
  const { run, born } = incarnation;
  const known = { run, incarnation: born, agent, tenant, version, ...ids, ...(link === null ? {} : { link }) };
  return JSON.stringify({ type: kind, timestamp: new Date(at).toISOString(), data: known });
}

/** The headers of one request. `at`: when it is sent, epoch milliseconds. */
export function webhookHeaders({
  at,
  key,
  id,
  body,
}: {
  readonly id: string;
  readonly at: number;
  readonly body: string;
  readonly key: Uint8Array;
}): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1_000));
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`, "utf8").digest("base64");
  return {
    "content-type": "application/json",
    "user-agent": "cairn",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
}
