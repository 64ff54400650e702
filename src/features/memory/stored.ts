/**
 * The memory of one scope. A search reads all of its entries, so a scope has at most 500 of them. Runs and calls
 * that add entries at the same moment may exceed that number, each by 16 at most.
 *
 * Schedule 200: a process dies between the write of an entry and the commit that refers to it. The next one writes the
 * same entry under the same ID, so nothing is there twice.
 */
import { sha256 } from "../../codec/canonical.ts";
import { isTenant } from "../../core/ids.ts";
import {
  type Memory,
  type MemoryEntry,
  type MemoryForgotten,
  type MemoryHit,
  type MemoryPut,
  type MemorySearch,
  type NewMemoryEntry,
  MEMORY_ENTRIES_MAX,
} from "../../ports/memory.ts";
import {
  type EntryStores,
  type MemoryScope,
  entriesIn,
  entryKey,
  entryOf,
  forgetRecord,
  isThere,
  subjectOf,
} from "./entries.ts";
import { fetchSource } from "./sources.ts";
import { searchEntries } from "./search.ts";
import { swapRecordUntil } from "../../history/record-swap.ts";
import { learnSecrets, redactionIn } from "../../history/secrets.ts";

export const MEMORY = {
  entriesMax: MEMORY_ENTRIES_MAX,
  textBytesMax: 4 * 1024,
  tagsMax: 16,
  tagCharactersMax: 64,
  sourceCharactersMax: 1_024,
  idsMax: 100,
} as const;

const SEARCH_LIMIT = 10;
const SEARCH_LIMIT_MAX = 50;
/** How often a write is tried again after another process changed the same entry. */
const TRIES_MAX = 5;
/** How many new entries are added before those of the scope are counted again, which reads all of them. */
const UNCOUNTED_MAX = 16;

/** Throws if the tenant is none, since it separates the memories of tenants. */
export function memoryOf(world: EntryStores, scope: MemoryScope): Memory {
  if (!isTenant(scope.tenant)) throw new Error(`${JSON.stringify(scope.tenant)} is no tenant`);
  const takePlace = placesIn(world, scope);
  // Of entries that are put at once, each is there before the next one is counted.
  const inOrder = oneByOne();
  return {
    put: (entry) => inOrder(() => put(world, scope, { given: entry, takePlace })),
    get: (ids) => get(world, scope, ids),
    search: (text, options) => search(world, scope, text, options),
    forget: (id) => forget(world, scope, id),
    fetch: (source, ask, options) =>
      fetchSource(world, { subject: subjectOf(scope), ...scope }, { source, ask, ...options }),
  };
}

/** Takes the place of one new entry. False: the scope is full. */
type TakePlace = () => Promise<boolean>;

function placesIn(world: EntryStores, scope: MemoryScope): TakePlace {
  let left = 0;
  return async () => {
    if (left <= 0) left = Math.min(UNCOUNTED_MAX, MEMORY.entriesMax - (await countIn(world, scope)));
    left -= 1;
    return left >= 0;
  };
}

async function countIn(world: EntryStores, scope: MemoryScope): Promise<number> {
  const { entries, damaged } = await entriesIn(world, scope);
  return entries.length + damaged.length;
}

/** Performs one action after the other, in the order in which they are asked for. */
function oneByOne(): <T>(act: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return async (act) => {
    const next = last.then(act);
    last = next.catch(() => undefined);
    return next;
  };
}

async function put(
  world: EntryStores,
  scope: MemoryScope,
  { given, takePlace }: { readonly given: NewMemoryEntry; readonly takePlace: TakePlace },
): Promise<MemoryPut> {
  const why = wrongWith(given);
  if (why !== null) return { kind: "refused", why };
  await learnSecrets(world);
  const { id, lifeMs } = given;
  const redaction = redactionIn(world);
  if (redaction.text(id) !== id) return { kind: "refused", why: "its ID holds a secret" };
  const { text, tags = [], source, etag } = given;
  const says = {
    text: redaction.text(text),
    tags: tags.map((tag) => redaction.text(tag)),
    ...(source === undefined ? {} : { source: redaction.text(source) }),
    ...(etag === undefined ? {} : { etag: redaction.text(etag) }),
  };
  const digest = sha256(JSON.stringify(says));
  const now = world.clock.now();
  const key = entryKey(scope, id);
  const expiresAtSec = lifeMs === undefined ? null : Math.ceil((now + lifeMs) / 1_000);
  const body = { ...says, digest, at: now };
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const found = await world.records.get(key, now);
    if (!isThere(found)) {
      if (!(await takePlace())) return { kind: "full", entriesMax: MEMORY.entriesMax };
    } else if (entryOf(found).digest === digest && found.expiresAtSec === expiresAtSec) {
      return { kind: "unchanged", id, digest };
    }
    const { tenant } = scope;
    if (await swapRecordUntil(world, { key, tenant, found, body, expiresAtSec })) return { kind: "kept", id, digest };
  }
  return { kind: "refused", why: "other processes keep changing it: try again later" };
}

async function get(world: EntryStores, scope: MemoryScope, ids: readonly string[]): Promise<readonly MemoryEntry[]> {
  const now = world.clock.now();
  const found = await Promise.all(
    ids.slice(0, MEMORY.idsMax).map(async (id) => (isId(id) ? world.records.get(entryKey(scope, id), now) : null)),
  );
  return found.filter(isThere).map(entryOf);
}

const search = async (
  world: EntryStores,
  scope: MemoryScope,
  text: string,
  { limit = SEARCH_LIMIT, ...options }: MemorySearch = {},
): Promise<readonly MemoryHit[]> =>
  searchEntries((await entriesIn(world, scope)).entries, text, {
    ...options,
    limit: Math.min(SEARCH_LIMIT_MAX, limit),
  });

const forget = async (world: EntryStores, scope: MemoryScope, id: string): Promise<MemoryForgotten> => ({
  kind: isId(id) ? await forgetRecord(world, { key: entryKey(scope, id), tenant: scope.tenant }) : "missing",
});

const isId = (id: unknown): id is string => typeof id === "string" && /^[\x21-\x7e]{1,128}$/.test(id);

/** What is wrong with an entry; null if nothing is. An agent may come from JavaScript. */
function wrongWith(entry: NewMemoryEntry): string | null {
  const { id, text, tags = [], source = "", etag = "", lifeMs } = entry;
  if (!isId(id)) return "its ID is 1 to 128 printable ASCII characters without spaces";
  if (typeof text !== "string" || text.trim() === "") return "it has no text";
  const bytes = Buffer.byteLength(text);
  if (bytes > MEMORY.textBytesMax) return `its text has ${bytes} bytes, ${MEMORY.textBytesMax} are allowed`;
  const isTag = (tag: unknown): boolean =>
    typeof tag === "string" && tag.trim() !== "" && tag.length <= MEMORY.tagCharactersMax;
  if (!Array.isArray(tags) || tags.length > MEMORY.tagsMax || !tags.every(isTag)) {
    return `it has at most ${MEMORY.tagsMax} tags of 1 to ${MEMORY.tagCharactersMax} characters`;
  }
  const isShort = (each: unknown): boolean => typeof each === "string" && each.length <= MEMORY.sourceCharactersMax;
  if (!isShort(source) || !isShort(etag))
    return `source and etag have ${MEMORY.sourceCharactersMax} characters at most`;
  const isLife = lifeMs === undefined || (Number.isSafeInteger(lifeMs) && lifeMs > 0);
  return isLife ? null : "lifeMs is a positive whole number of milliseconds";
}
