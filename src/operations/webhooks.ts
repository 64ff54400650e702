/**
 * The webhook endpoints of a store: what waits for each, whether requests go to it, and what it never accepted. An
 * operator sends that again, or moves it to another endpoint.
 */
import {
  OUTBOX_KEPT_MS,
  type QueuedNotification,
  queueTo,
  queuedIn,
  queuedRecord,
  undeliveredTo,
} from "../features/webhooks/outbox.ts";
import { resolveAmbiguousWrite } from "../history/resolve-ambiguous-write.ts";
import { circuitNow, closeByHand } from "../features/webhooks/circuits.ts";
import { type KnownEndpoint, endpointId, knownEndpoints } from "../features/webhooks/endpoints.ts";
import { keptFor, replaceEntry, settleEntry } from "../features/webhooks/queues.ts";
import type { AddOutcome, StoredRecord } from "../ports/records.ts";
import type { World } from "../ports/world.ts";
import { notificationId } from "../protocol/ids.ts";
import { isOpen } from "../protocol/webhook-circuit.ts";
import type { OperationContext } from "./operation.ts";

/** One look reads so many records of each queue, and one redelivery takes so many. */
const READ_MAX = 500;
const SHOWN_MAX = 20;

export interface WaitingNotification {
  /** As the receiver gets it: `webhook-id`. */
  readonly id: string;
  readonly run: string;
  readonly agent: string;
  readonly event: string;
  /** When it happened, epoch milliseconds. */
  readonly at: number;
  readonly attempts: number;
  /** Why the last attempt failed; null if there was none. */
  readonly why: string | null;
  /** No further attempt is made unless an operator asks for it. */
  readonly isGivenUp: boolean;
}

export interface WebhookView {
  /** Names the endpoint, since its URL may hold a token of the receiver. */
  readonly id: string;
  /** The origin of its URL. */
  readonly to: string;
  /** When the config was first seen without it, epoch milliseconds; null: it names it. */
  readonly removedAt: number | null;
  readonly circuit: {
    /** Single notifications probe it. */
    readonly isOpen: boolean;
    /** Attempts that failed in a row. */
    readonly failures: number;
    /** When the first of them failed; null without one. */
    readonly since: number | null;
    /** When the next probe may go, epoch milliseconds; null if it is closed. */
    readonly nextAt: number | null;
    readonly why: string | null;
  };
  readonly waiting: number;
  readonly givenUp: number;
  /** There may be more than was counted. */
  readonly isMore: boolean;
  /** The first of them: what was given up, then what waits. */
  readonly notifications: readonly WaitingNotification[];
}

export interface WebhooksListed {
  readonly kind: "listed";
  readonly endpoints: readonly WebhookView[];
}

type Caller = Pick<OperationContext, "world" | "tenant" | "isOperator">;

export async function listWebhooks(caller: Caller): Promise<WebhooksListed> {
  const known = await knownEndpoints(caller.world);
  return { kind: "listed", endpoints: await Promise.all(known.map((each) => viewOf(caller, each))) };
}

async function viewOf(caller: Caller, { url, removedAt }: KnownEndpoint): Promise<WebhookView> {
  const { world } = caller;
  const queue = queueTo(world, url);
  const circuit = await circuitNow(world, queue);
  const { found, isMore } = await foundFor(caller, url);
  const { failures, since, nextAt, why } = circuit;
  const shown = found.toSorted((one, other) => Number(other.isGivenUp) - Number(one.isGivenUp)).slice(0, SHOWN_MAX);
  const givenUp = found.filter((each) => each.isGivenUp).length;
  return {
    id: endpointId(world, url),
    to: new URL(url).origin,
    removedAt,
    circuit: {
      isOpen: isOpen(circuit),
      failures,
      since: failures === 0 ? null : since,
      nextAt: isOpen(circuit) ? nextAt : null,
      why,
    },
    waiting: found.length - givenUp,
    givenUp,
    isMore,
    notifications: shown.map(notificationView),
  };
}

const notificationView = ({ id, queued, isGivenUp }: Found): WaitingNotification => ({
  id,
  run: queued.run,
  agent: queued.agent,
  event: queued.notification.kind,
  at: queued.notification.at,
  attempts: queued.attempts,
  why: queued.why,
  isGivenUp,
});

interface Found {
  /** The ID of the notification. */
  readonly id: string;
  readonly record: StoredRecord;
  readonly queued: QueuedNotification;
  readonly isGivenUp: boolean;
}

/** What is kept for the endpoint of the runs that the caller may see. An entry that cannot be read is left to the sweep. */
async function foundFor(
  { world, tenant, isOperator = false }: Caller,
  url: string,
): Promise<{ readonly found: readonly Found[]; readonly isMore: boolean }> {
  const found: Found[] = [];
  let isMore = false;
  const givenUp = undeliveredTo(queueTo(world, url));
  const wanted = {
    isWanted: (record: StoredRecord) => isOperator || record.tenant === tenant,
    limit: READ_MAX,
    onMore: () => {
      isMore = true;
    },
  };
  for await (const record of keptFor(world, url, wanted)) {
    const queued = queuedSafely(record);
    if (queued === null) continue;
    const id = notificationId(world.hash, queued);
    found.push({ id, record, queued, isGivenUp: record.about === givenUp });
  }
  return { found, isMore };
}

function queuedSafely(record: StoredRecord): QueuedNotification | null {
  try {
    return queuedIn(record);
  } catch {
    return null;
  }
}

export interface Redelivery {
  readonly endpoint: string;
  /** One notification by its ID; null: all that is kept for the endpoint. */
  readonly notification: string | null;
  /** The endpoint that gets them instead; null: the same. */
  readonly to: string | null;
}

export type Redelivered =
  /** `isMore`: there was more than one request takes. */
  | {
      readonly kind: "redelivered";
      readonly endpoint: string;
      readonly notifications: number;
      readonly isMore: boolean;
    }
  | { readonly kind: "endpointUnknown" | "notificationUnknown" | "endpointRemoved" };

/**
 * Makes notifications due at once, with ten new attempts each. The next sweep sends them, under the IDs that they have.
 *
 * Schedule 274: a sweep runs while an operator puts back what an endpoint has refused for days. Under its open circuit
 * what is so old is given up without an attempt. So the circuit is closed before the first notification is put back.
 *
 * Schedule 275: the operator's process dies while it moves a notification to another endpoint. It is added to the other
 * queue first, so the same command ends the move; the other way round it would be lost.
 */
export async function redeliver(caller: Caller, asked: Redelivery): Promise<Redelivered> {
  const { world } = caller;
  const known = await knownEndpoints(world);
  const named = (id: string): KnownEndpoint | undefined => known.find(({ url }) => endpointId(world, url) === id);
  const from = named(asked.endpoint);
  const to = named(asked.to ?? asked.endpoint);
  if (from === undefined || to === undefined) return { kind: "endpointUnknown" };
  if (to.removedAt !== null) return { kind: "endpointRemoved" };
  const { found, isMore } = await foundFor(caller, from.url);
  const wanted = found.filter(({ id }) => asked.notification === null || id === asked.notification);
  if (asked.notification !== null && wanted.length === 0) {
    // The same request may have moved it, and its answer was lost.
    const { found: moved } = to === from ? { found } : await foundFor(caller, to.url);
    if (moved.every(({ id }) => id !== asked.notification)) return { kind: "notificationUnknown" };
    return { kind: "redelivered", endpoint: endpointId(world, to.url), notifications: 1, isMore: false };
  }
  // A tenant without anything there does not make the notifications of the others due.
  if (wanted.length > 0) await closeByHand(world, queueTo(world, to.url));
  for (const each of wanted) await putInto(world, to.url, each);
  const endpoint = endpointId(world, to.url);
  return { kind: "redelivered", endpoint, notifications: wanted.length, isMore: isMore && asked.notification === null };
}

async function putInto(world: World, url: string, { record, queued }: Found): Promise<void> {
  const body: QueuedNotification = { ...queued, url, attempts: 0, triedAt: 0, why: null };
  const entry = queuedRecord(queueTo(world, url), body, { tenant: record.tenant, now: record.at });
  if (entry.about === record.about) {
    if (queued.attempts > 0) await replaceEntry(world, { ...record, body: entry.body });
    return;
  }
  const expiresAtSec = Math.ceil((world.clock.now() + OUTBOX_KEPT_MS) / 1_000);
  await resolveAmbiguousWrite<AddOutcome>(
    () => world.records.add({ ...entry, expiresAtSec }, world.clock.now()),
    () => null,
  );
  await settleEntry(world, record);
}
