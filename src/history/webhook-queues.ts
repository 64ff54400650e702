/** The queues of webhook endpoints: what waits in them and what was given up, page by page, and how an entry changes. */
import type { ReplaceOutcome, StoredRecord } from "../ports/records.ts";
import type { World } from "../ports/world.ts";
import { queueTo, subjectsOf, undeliveredTo } from "./outbox.ts";
import { resolveAmbiguousWrite } from "./resolve-ambiguous-write.ts";

const PAGE_RECORDS = 100;

type Read = Pick<World, "records" | "clock" | "hash">;

/** The subjects of an endpoint: what is urgent, the rest, and what was given up. */
const subjectsTo = (world: Read, url: string): readonly string[] => {
  const queue = queueTo(world, url);
  return [...subjectsOf(queue), undeliveredTo(queue)];
};

/** What is kept for the endpoint, at most `limit` records of each subject. The damaged ones are left out. */
export async function* keptFor(world: Read, url: string, limit: number): AsyncGenerator<StoredRecord> {
  for (const about of subjectsTo(world, url)) {
    let left = limit;
    let after: string | null = null;
    do {
      const now = world.clock.now();
      const query = { kind: "webhook", by: { about }, after, limit: PAGE_RECORDS, now } as const;
      const page = await world.records.list(query);
      for (const record of page.records.slice(0, left)) yield record;
      left -= page.records.length;
      after = page.next;
    } while (after !== null && left > 0);
  }
}

/** Whether something waits for the endpoint, or was never accepted by it. */
export async function isWaitingFor(world: Read, url: string): Promise<boolean> {
  for await (const _ of keptFor(world, url, 1)) return true;
  return false;
}

/** An entry that has expired is absent at once, and the store deletes it some time later. */
export const settleEntry = (world: World, record: StoredRecord): Promise<void> =>
  replaceEntry(world, { ...record, expiresAtSec: Math.floor(world.clock.now() / 1_000) });

/** `changed`: another process works on this entry, and its record counts. */
export async function replaceEntry(world: World, record: StoredRecord): Promise<void> {
  await resolveAmbiguousWrite<ReplaceOutcome>(
    () => world.records.replace(record, world.clock.now()),
    () => null,
  );
}
