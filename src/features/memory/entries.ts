/**
 * The entries of one memory as they are stored: one record each, over the records of the world. So memory is in every
 * world, in each backup of the store, and under the same conditional writes as access tokens.
 */
import * as z from "zod";
import { Unreadable } from "../../codec/canonical.ts";
import type { MemoryEntry } from "../../ports/memory.ts";
import {
  type FoundRecord,
  type RecordKey,
  type RecordKind,
  type RecordPage,
  type StoredRecord,
  isDamagedRecord,
} from "../../ports/records.ts";
import type { World } from "../../ports/world.ts";
import { findRecord } from "../../history/damage.ts";
import { swapRecordUntil } from "../../history/record-swap.ts";

/** A memory: that of a tenant under this name. */
export interface MemoryScope {
  readonly tenant: string;
  readonly scope: string;
}

export type EntryStores = Pick<World, "records" | "clock" | "secrets">;

/** Entries that are read at once. */
export const ENTRIES_PAGE = 100;

export const stored = z.looseObject({
  text: z.string(),
  tags: z.array(z.string()),
  source: z.string().optional(),
  etag: z.string().optional(),
  digest: z.string(),
  at: z.int(),
});

/** A tenant has no `/`, so no two scopes share a subject. */
export const subjectOf = ({ tenant, scope }: MemoryScope): string => `${tenant}/${scope}`;

export const entryKey = (scope: MemoryScope, id: string): RecordKey => ({
  kind: "memoryEntry",
  about: subjectOf(scope),
  id,
});

/** All entries of the scope, and the IDs of those that cannot be read. */
export async function entriesIn(
  world: Stores,
  scope: MemoryScope,
): Promise<{ readonly entries: readonly MemoryEntry[]; readonly damaged: readonly string[] }> {
  const entries: MemoryEntry[] = [];
  const damaged: string[] = [];
  for await (const record of recordsOf(world, { kind: "memoryEntry", scope, page: ENTRIES_PAGE })) {
    const read = isDamagedRecord(record) ? null : stored.safeParse(record.body);
    if (read?.success === true) entries.push(shownEntry(record.id, read.data));
    else damaged.push(record.id);
  }
  return { entries, damaged };
}

/**
 * The records of one kind of the scope, also damaged ones, without those that were forgotten. `page`: the number that
 * is read at once.
 */
export async function* recordsOf(
  { records, clock }: Stores,
  { kind, scope, page: limit }: { readonly kind: RecordKind; readonly scope: MemoryScope; readonly page: number },
): AsyncGenerator<FoundRecord, void, undefined> {
  let after: string | null = null;
  do {
    const by = { about: subjectOf(scope) };
    const page: RecordPage = await records.list({ kind, by, after, limit, now: clock.now() });
    yield* page.records.filter(isThere);
    yield* page.damaged;
    after = page.next;
  } while (after !== null);
}

type Stores = Pick<World, "records" | "clock">;

/** A forgotten record has no body. A process whose clock is behind still finds it. */
export const isThere = (record: StoredRecord | null): record is StoredRecord => record !== null && record.body !== null;

export function entryOf({ id, body }: StoredRecord): MemoryEntry {
  const read = stored.safeParse(body);
  if (!read.success) throw new Unreadable(`the memory entry ${id} cannot be read`, "RecordDamaged");
  return shownEntry(id, read.data);
}

const shownEntry = (id: string, { text, tags, source, etag, digest, at }: z.output<typeof stored>): MemoryEntry => ({
  id,
  text,
  tags,
  digest,
  at,
  ...(source === undefined ? {} : { source }),
  ...(etag === undefined ? {} : { etag }),
});

/** Removes the content of a record at once, also of a damaged one; the world deletes the rest of it later. */
export async function forgetRecord(
  world: Stores,
  { key, tenant }: { readonly key: RecordKey; readonly tenant: string },
): Promise<"forgotten" | "missing"> {
  for (let wasThere = false; ; wasThere = true) {
    const now = world.clock.now();
    const found = await findRecord(world, key, now);
    if (!(found instanceof Unreadable) && !isThere(found)) return wasThere ? "forgotten" : "missing";
    const gone = { key, tenant, found, body: null, expiresAtSec: Math.floor(now / 1_000) };
    if (await swapRecordUntil(world, gone)) return "forgotten";
    // Another process changed it at the same moment, or the answer to this very write was lost.
  }
}
