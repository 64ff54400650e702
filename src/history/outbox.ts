/**
 * The outbox of webhooks: records of notifications that are not delivered yet.
 *
 * An entry is stored **before** the commit that holds the events, so no process can die between the two and lose it. At
 * that time it is a claim only (`noted`): the log of the run decides what the version really holds. A delivery confirms
 * the entry first. A commit without notifications stores nothing.
 */
import * as z from "zod";
import { Unreadable } from "../codec/canonical.ts";
import { CRACK_NAMES } from "../core/crack.ts";
import type { Json } from "../core/json.ts";
import { NOTIFICATION_KINDS, type RunNotification } from "../core/notifications.ts";
import type { NewRecord, StoredRecord } from "../ports/records.ts";

/** The subject of all entries. A subject that names a run would need a search for the runs with entries. */
export const OUTBOX = "outbox";

const notification: z.ZodType<RunNotification> = z.looseObject({
  kind: z.enum(NOTIFICATION_KINDS),
  at: z.int().nonnegative(),
  code: z.string().exactOptional(),
  call: z.string().exactOptional(),
  gate: z.string().exactOptional(),
  crack: z.enum(CRACK_NAMES).exactOptional(),
  expiresAt: z.int().nonnegative().nullable().exactOptional(),
});

const ofCommit = {
  ...{ run: z.string(), born: z.string(), agent: z.string() },
  ...{ epoch: z.int().nonnegative(), version: z.int().positive() },
};

/** One notification to one endpoint. `notification`: its place among those of the commit, from 0. */
const delivery = z.strictObject({
  notification: z.int().nonnegative(),
  url: z.string(),
  attempts: z.int().nonnegative(),
  nextAt: z.int().nonnegative(),
});
export type Delivery = z.output<typeof delivery>;

export const entry = z.discriminatedUnion("stage", [
  /** The commit is about to be sent. `end`: it ends the run. */
  z.strictObject({ stage: z.literal("noted"), ...ofCommit, end: notification.nullable() }),
  /** The log holds the commit. `deliveries`: those that no endpoint has acknowledged. */
  z.strictObject({
    ...{ stage: z.literal("confirmed"), ...ofCommit },
    notifications: z.array(notification),
    deliveries: z.array(delivery),
  }),
]);
export type OutboxEntry = z.output<typeof entry>;
export type EntryIn<S extends OutboxEntry["stage"]> = Extract<OutboxEntry, { readonly stage: S }>;

/** An entry is kept for so long at most. It outlasts every retry. */
const KEPT_MS = 30 * 24 * 3_600_000;

/**
 * The record of a new entry. Its ID names the epoch too: an older process with the same version may be fenced, and its
 * entry is dropped then.
 */
export const outboxRecord = (
  noted: EntryIn<"noted">,
  { tenant, now }: { readonly tenant: string; readonly now: number },
): NewRecord => ({
  ...{ kind: "webhook", about: OUTBOX, tenant, at: now },
  id: `${noted.run}.${noted.born}.${noted.epoch}.${noted.version}`,
  body: noted as unknown as Json,
  expiresAtSec: Math.ceil((now + KEPT_MS) / 1_000),
});

/** Throws `Unreadable` if it is no entry of this version of cairn. */
export function outboxEntryIn({ id, body }: StoredRecord): OutboxEntry {
  const read = entry.safeParse(body);
  if (read.success) return read.data;
  throw new Unreadable(`the entry ${id} of the outbox cannot be read`, "RecordDamaged");
}
