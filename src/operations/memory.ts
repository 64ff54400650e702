/**
 * What an operator sees and does of a memory: lists and searches its entries, reads one, forgets one or all of them. A
 * memory without an entry is like one that was never written: neither is an error.
 */
import { isName } from "../core/ids.ts";
import { ENTRIES_PAGE, type MemoryScope, entriesIn, forgetRecord, recordsOf } from "../features/memory/entries.ts";
import { searchEntries } from "../features/memory/search.ts";
import { MEMORY, memoryOf } from "../features/memory/stored.ts";
import type { MemoryEntry, MemoryHit } from "../ports/memory.ts";
import type { RecordKey, RecordKind } from "../ports/records.ts";
import type { World } from "../ports/world.ts";

export interface MemoryPage {
  readonly kind: "listed";
  readonly scope: string;
  /** Newest first, or what the query finds, best first. Each has a part of its text. */
  readonly entries: readonly MemoryHit[];
  /** The IDs of the entries that cannot be read, which no page shows. */
  readonly damaged: readonly string[];
  /** The number of entries of the memory, damaged ones included, and the most that it may have. */
  readonly count: number;
  readonly entriesMax: number;
  /** The cursor of the next page; null if there is none. A search has one page. */
  readonly next: string | null;
}

export async function listMemory(
  world: World,
  asked: MemoryScope & { readonly query: string | null; readonly limit: number; readonly after: string | null },
): Promise<MemoryPage> {
  const { query, limit, after } = asked;
  const { entries: all, damaged } = isName(asked.scope) ? await entriesIn(world, asked) : { entries: [], damaged: [] };
  const behind = query !== null || after === null ? all : entriesBehind(all, after);
  const entries = searchEntries(behind, query ?? "", { limit });
  const last = entries.at(-1);
  const isMore = query === null && behind.length > entries.length && last !== undefined;
  return {
    kind: "listed",
    scope: asked.scope,
    entries,
    damaged,
    count: all.length + damaged.length,
    entriesMax: MEMORY.entriesMax,
    next: isMore ? `${last.at}.${last.id}` : null,
  };
}

/** The entries after that place of the list, also if the entry at that place is gone by now. */
function entriesBehind(all: readonly MemoryEntry[], cursor: string): readonly MemoryEntry[] {
  const [, time, id = ""] = /^(\d{1,16})\.(.*)$/.exec(cursor) ?? [];
  const at = Number(time ?? -1);
  return all.filter((entry) => entry.at < at || (entry.at === at && entry.id > id));
}

export type EntryShown =
  | { readonly kind: "shown"; readonly scope: string; readonly entry: MemoryEntry }
  | { readonly kind: "missing" };

export async function showEntry(world: World, where: MemoryScope & { readonly id: string }): Promise<EntryShown> {
  const { scope, id } = where;
  const [entry] = isName(scope) ? await memoryOf(world, where).get([id]) : [];
  return entry === undefined ? { kind: "missing" } : { kind: "shown", scope, entry };
}

export type EntryForgotten =
  | { readonly kind: "forgotten"; readonly scope: string; readonly id: string }
  | { readonly kind: "missing" };

export async function forgetEntry(world: World, where: MemoryScope & { readonly id: string }): Promise<EntryForgotten> {
  const { scope, id } = where;
  const { kind } = isName(scope) ? await memoryOf(world, where).forget(id) : { kind: "missing" as const };
  return kind === "missing" ? { kind } : { kind, scope, id };
}

export type MemoryForgottenWhole =
  | { readonly kind: "notConfirmed"; readonly scope: string; readonly entries: number }
  | {
      readonly kind: "forgotten";
      readonly scope: string;
      readonly entries: number;
      readonly sources: number;
      /** There are more; the same request again goes on with them. */
      readonly more: boolean;
    };

/** Records that one request forgets: as many as the API can within its time. */
export const FORGOTTEN_MAX = 600;
const AT_ONCE = 16;
/** A source may have 256 KB, and is read before it is forgotten. */
const SOURCES_PAGE = 8;

/**
 * Forgets all entries and sources of a memory, also those that cannot be read. What runs keep meanwhile may stay, so the
 * agents have to be stopped first.
 */
export async function forgetMemory(
  world: World,
  { tenant, scope, confirmed }: MemoryScope & { readonly confirmed: boolean },
): Promise<MemoryForgottenWhole> {
  const entries = await keysIn(world, { kind: "memoryEntry", scope: { tenant, scope }, max: FORGOTTEN_MAX });
  if (!confirmed) return { kind: "notConfirmed", scope, entries: entries.keys.length };
  const max = FORGOTTEN_MAX - entries.keys.length;
  const sources = await keysIn(world, { kind: "source", scope: { tenant, scope }, max });
  const keys = [...entries.keys, ...sources.keys];
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    await Promise.all(keys.slice(at, at + AT_ONCE).map((key) => forgetRecord(world, { key, tenant })));
  }
  const more = entries.isMore || sources.isMore;
  return { kind: "forgotten", scope, entries: entries.keys.length, sources: sources.keys.length, more };
}

async function keysIn(
  world: World,
  { kind, scope, max }: { readonly kind: RecordKind; readonly scope: MemoryScope; readonly max: number },
): Promise<{ readonly keys: readonly RecordKey[]; readonly isMore: boolean }> {
  const keys: RecordKey[] = [];
  if (!isName(scope.scope)) return { keys, isMore: false };
  const page = kind === "source" ? SOURCES_PAGE : ENTRIES_PAGE;
  for await (const { about, id } of recordsOf(world, { kind, scope, page })) {
    if (keys.length === max) return { keys, isMore: true };
    keys.push({ kind, about, id });
  }
  return { keys, isMore: false };
}
