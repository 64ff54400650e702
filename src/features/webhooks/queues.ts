/** The queues of webhook endpoints: what waits in them and what was given up, page by page, and how an entry changes. */
import type { ReplaceOutcome, StoredRecord } from "../../ports/records.ts";
import type { World } from "../../ports/world.ts";
import { queueTo, subjectsOf, undeliveredTo } from "./outbox.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";

const PAGE_RECORDS = 100;

type Read = Pick<World, "records" | "clock" | "hash">;

/** The subjects of an endpoint: what is urgent, the rest, and what was given up. */
const subjectsTo = (world: Read, url: string): readonly string[] => {
  const queue = queueTo(world, url);
  return [...subjectsOf(queue), undeliveredTo(queue)];
};

/** Which records are read of each subject of an endpoint. */
interface KeptRecords {
  readonly isWanted: (record: StoredRecord) => boolean;
  /** So many of them at most. */
  readonly limit: number;
  /** There may be more of them. */
  readonly onMore: () => void;
}

/** So many records of a subject are looked at for those that are wanted: others may be in front of them. */
const LOOKED_AT_MAX = 10_000;

/** What is kept for the endpoint. The damaged records are left out. */
export async function* keptFor(world: Read, url: string, wanted: KeptRecords): AsyncGenerator<StoredRecord> {
  for (const about of subjectsTo(world, url)) {
    let [left, lookedAt] = [wanted.limit, 0];
    let after: string | null = null;
    do {
      const now = world.clock.now();
      const query = { kind: "webhook", by: { about }, after, limit: PAGE_RECORDS, now } as const;
      const page = await world.records.list(query);
      const found = page.records.filter(wanted.isWanted);
      for (const record of found.slice(0, left)) yield record;
      left -= found.length;
      lookedAt += PAGE_RECORDS;
      after = page.next;
    } while (after !== null && left > 0 && lookedAt < LOOKED_AT_MAX);
    if (after !== null || left < 0) wanted.onMore();
  }
}

const ANY: KeptRecords = { isWanted: () => true, limit: 1, onMore: () => undefined };

/** Whether something waits for the endpoint, or was never accepted by it. */
export async function isWaitingFor(world: Read, url: string): Promise<boolean> {
  for await (const _ of keptFor(world, url, ANY)) return true;
  return false;
}

/** An entry that has expired is absent at once, and the store deletes it some time later. */
export const settleEntry = async (world: World, record: StoredRecord): Promise<void> =>
  void (await replaceEntry(world, expired(world, record)));

/**
 * The same for one that its endpoint has accepted. An operator may have put it back meanwhile: it would be sent again
 * although it arrived.
 */
export async function settleDelivered(world: World, record: StoredRecord): Promise<void> {
  const { kind } = await replaceEntry(world, expired(world, record));
  const changed = kind === "changed" ? await world.records.get(record, world.clock.now()) : null;
  if (changed !== null) await replaceEntry(world, expired(world, changed));
}

const expired = ({ clock }: Pick<World, "clock">, record: StoredRecord): StoredRecord => ({
  ...record,
  expiresAtSec: Math.floor(clock.now() / 1_000),
});

/** `changed`: another process works on this entry, and its record counts. */
export const replaceEntry = (world: World, record: StoredRecord): Promise<ReplaceOutcome> =>
  resolveAmbiguousWrite<ReplaceOutcome>(
    () => world.records.replace(record, world.clock.now()),
    () => null,
  );
