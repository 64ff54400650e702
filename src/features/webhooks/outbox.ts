/**
 * The outbox of webhooks: records of notifications that are not delivered yet.
 *
 * An entry is stored **before** the commit that holds the events, so no process can die between the two and lose it. At
 * that time it is a claim only (`noted`): the log of the run decides what the version really holds. Once it confirms the commit,
 * each notification goes into the queue of each endpoint that wants it. A commit without notifications stores nothing.
 */
import * as z from "zod";
import { Unreadable } from "../../codec/canonical.ts";
import { CRACK_NAMES } from "../../core/crack.ts";
import type { Json } from "../../core/json.ts";
import { NOTIFICATION_KINDS, type RunNotification, isUrgent } from "../../core/notifications.ts";
import type { NewRecord, StoredRecord } from "../../ports/records.ts";

/** The entries whose commit no process has looked for yet. Subjects that name runs would need a search for runs. */
export const OUTBOX = "outbox";

/** The two subjects of a queue, in the order in which it is worked off: what is urgent goes before the rest. */
export const subjectsOf = (queue: string): readonly [urgent: string, bulk: string] => [
  `${queue} urgent`,
  `${queue} bulk`,
];

/** What waits for one endpoint. */
export const queueTo = (world: { readonly hash: (text: string) => string }, url: string): string =>
  `outbox to ${world.hash(url).slice(0, 16)}`;

/** What one endpoint never accepted. An operator may put it into the queue again. */
export const undeliveredTo = (queue: string): string => `undelivered of ${queue}`;

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
  run: z.string(),
  born: z.string(),
  agent: z.string(),
  epoch: z.int().nonnegative(),
  version: z.int().positive(),
  /** The header of its requests that names the span of the run. */
  traceparent: z.string().exactOptional(),
};

/** The commit is about to be sent. `end`: it ends the run. */
const noted = z.strictObject({ stage: z.literal("noted"), ...ofCommit, end: notification.nullable() });
export type NotedCommit = z.output<typeof noted>;

/** One notification to one endpoint, which the log confirms. `place`: among those of the commit, from 0. */
const queued = z.strictObject({
  stage: z.literal("queued"),
  ...ofCommit,
  notification,
  place: z.int().nonnegative(),
  url: z.string(),
  attempts: z.int().nonnegative(),
  /** When the last attempt began, epoch milliseconds. */
  triedAt: z.int().nonnegative(),
  /** Why the last attempt failed. */
  why: z.string().nullable(),
});
export type QueuedNotification = z.output<typeof queued>;

export const outboxEntry = z.discriminatedUnion("stage", [noted, queued]);

/** An entry is kept for so long at most. It outlasts every retry. */
export const OUTBOX_KEPT_MS = 30 * 24 * 3_600_000;

interface Added {
  readonly tenant: string;
  readonly now: number;
  readonly isUrgent: boolean;
}

const recordIn = (
  queue: string,
  { tenant, now, isUrgent, id, body }: Added & { readonly id: string; readonly body: NotedCommit | QueuedNotification },
): NewRecord => ({
  kind: "webhook",
  about: subjectsOf(queue)[isUrgent ? 0 : 1],
  tenant,
  at: now,
  id: `${placeAt(now)}.${id}`,
  body: body as unknown as Json,
  expiresAtSec: Math.ceil((now + OUTBOX_KEPT_MS) / 1_000),
});

/** A time of an ID, epoch milliseconds. Lists begin with the greatest ID, and queues with the oldest entry. */
const LAST_TIME = 9_999_999_999_999;
const placeAt = (at: number): string => String(LAST_TIME - at).padStart(13, "0");

/** The run that the ID of an entry names. */
export const runInEntry = (id: string): string => id.split(".")[1] ?? "";

/**
 * The record of a new entry. Its ID names the epoch too: an older process with the same version may be fenced, and its
 * entry is dropped then.
 */
export const notedRecord = (body: NotedCommit, added: Added): NewRecord =>
  recordIn(OUTBOX, { ...added, id: `${body.run}.${body.born}.${body.epoch}.${body.version}`, body });

/** The record of a notification in the queue of its endpoint. Routed twice, it has one ID if `now` is that of its entry. */
export const queuedRecord = (queue: string, body: QueuedNotification, added: Omit<Added, "isUrgent">): NewRecord =>
  recordIn(queue, {
    ...added,
    isUrgent: isUrgent(body.notification),
    id: `${body.run}.${body.born}.${body.version}.${body.place}`,
    body,
  });

/** Throws `Unreadable` if it is no entry of this version of cairn. */
function entryIn<S extends z.ZodType>(schema: S, { id, body }: StoredRecord): z.output<S> {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  throw new Unreadable(`the entry ${id} of the outbox cannot be read`, "RecordDamaged");
}
export const notedIn = (record: StoredRecord): NotedCommit => entryIn(noted, record);
export const queuedIn = (record: StoredRecord): QueuedNotification => entryIn(queued, record);
