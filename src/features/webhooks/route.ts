/**
 * Puts each noted notification into the queue of each endpoint that wants it, once the log of its run confirms the
 * commit. It reads stores only, so no endpoint holds it up.
 *
 * Schedule 280: a process dies between two queues. The entry is settled after all of them, so the next process routes
 * it again, under the same IDs. If it were settled first, the other endpoint would never hear of it.
 */
import { OUTBOX, notedIn, queueTo, queuedRecord, type NotedCommit } from "./outbox.ts";
import { settleEntry } from "./queues.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import type { AddOutcome, StoredRecord } from "../../ports/records.ts";
import type { Invocation } from "../../ports/tasks.ts";
import type { Webhooks } from "../../ports/webhooks.ts";
import type { World } from "../../ports/world.ts";
import { isTimeLeft, underMutexLease } from "../../history/mutex-lease.ts";
import { OutboxReader } from "./outbox-reader.ts";
import { statusOf } from "../../core/calls/open-calls.ts";
import { type RunNotification, notificationsIn } from "../../core/notifications.ts";
import { stateAt } from "../../history/state-at.ts";

const SIDE_BY_SIDE = 16;

interface Routing {
  readonly webhooks: Webhooks;
  readonly invocation: Invocation;
  /** Called when something waits for the endpoint with this URL. */
  readonly onQueued: (url: string) => void;
}

/**
 * Does nothing while another process routes. Whoever gives up the lease looks once more, so what was noted meanwhile, by
 * a process that found the lease held, waits for no sweep (schedule 281).
 */
export async function routeNoted(world: World, { webhooks, invocation, onQueued }: Routing): Promise<void> {
  const reader = new OutboxReader(world, OUTBOX);
  const next = (): Promise<readonly StoredRecord[]> => reader.first(SIDE_BY_SIDE, () => true);
  // The look before the lease spares two writes where nothing was noted.
  while (isTimeLeft(world, invocation) && (await next()).length > 0) {
    const isMine = await underMutexLease(world, invocation, {
      name: "webhooks",
      work: async (_, { hasTime }) => {
        while (hasTime()) {
          const records = await next();
          if (records.length === 0) return;
          await Promise.all(
            records.map((record) =>
              reader.guarded(record, async () => {
                const urls = await route(world, webhooks, record);
                if (urls === "waits") reader.leave(record);
                else for (const url of urls) onQueued(url);
              }),
            ),
          );
        }
      },
    });
    if (!isMine) return;
  }
}

async function route(
  world: World,
  { endpoints }: Webhooks,
  record: StoredRecord,
): Promise<"waits" | readonly string[]> {
  const noted = notedIn(record);
  const confirmed = await confirmNoted(world, noted);
  if (confirmed.kind === "waits") return "waits";
  const { run, born, agent, epoch, version, traceparent } = noted;
  const wanted = (confirmed.kind === "void" ? [] : confirmed.notifications).flatMap((notification, place) =>
    endpoints
      .filter(({ events, agents }) => events.includes(notification.kind) && (agents?.includes(agent) ?? true))
      .map(({ url }) => ({ url, notification, place })),
  );
  await Promise.all(
    wanted.map(async (each) => {
      const named = { run, born, agent, epoch, version, ...(traceparent !== undefined && { traceparent }) };
      const body = { stage: "queued", ...named, ...each, ...UNTRIED } as const;
      const queued = queuedRecord(queueTo(world, each.url), body, { tenant: record.tenant, now: record.at });
      await resolveAmbiguousWrite<AddOutcome>(
        () => world.records.add(queued, world.clock.now()),
        () => null,
      );
    }),
  );
  await settleEntry(world, record);
  return wanted.map(({ url }) => url);
}

export const UNTRIED = { attempts: 0, triedAt: 0, why: null } as const;

/** `waits`: the commit may still come. `void`: it never will. */
type Confirmed =
  | { readonly kind: "waits" }
  | { readonly kind: "void" }
  | { readonly kind: "confirmed"; readonly notifications: readonly RunNotification[] };

/**
 * Asks the log of a run what a noted commit really holds. The log is the authority: the process that noted it may have
 * died before its commit, or may have been fenced. Throws `Unreadable` if the history cannot be read.
 */
async function confirmNoted(world: World, noted: NotedCommit): Promise<Confirmed> {
  const { run, born, epoch, version } = noted;
  // At 0 no row has expired: a row that is not deleted yet still has its log.
  const row = await world.table.read(run, 0);
  if (row === null || row.born !== born) return confirmRemoved(world, noted);
  if (row.version < version) return row.epoch > epoch ? { kind: "void" } : { kind: "waits" };
  const before = await stateAt(world, row, version - 1);
  const commit = before?.later.find((each) => each.version === version);
  if (before === null || commit?.epoch !== epoch) return { kind: "void" };
  const { events } = commit;
  const from = statusOf(before.state);
  return {
    kind: "confirmed",
    notifications: notificationsIn({ events, from, to: statusOf(world.kernel.foldAll(before.state, events)) }),
  };
}

/** The run is removed, and its log with it. Its tombstone still says whether this very epoch ended it. */
async function confirmRemoved({ table }: World, { run, born, epoch, end }: NotedCommit): Promise<Confirmed> {
  const tombstone = await table.readKey(run, 0);
  const isMine = tombstone?.born === born && tombstone.epoch === epoch;
  return isMine && end?.kind === `run.${tombstone.status}`
    ? { kind: "confirmed", notifications: [end] }
    : { kind: "void" };
}
