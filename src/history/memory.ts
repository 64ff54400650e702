/**
 * The memory of one scope, over the records of the world. So it is in every world, in each backup of the store, and under
 * the same conditional writes as access tokens.
 *
 * An entry is one record, and a search reads all entries of its scope: a scope has at most 500 of them. Two processes that
 * add entries at the same moment may exceed that number by a few. Schedule 200: a process dies between the write of an
 * entry and the commit that refers to it. The next one writes the same entry under the same ID, so nothing is there twice.
 */
import * as z from "zod";
import { Unreadable, sha256 } from "../codec/canonical.ts";
import { isTenant } from "../core/ids.ts";
import type {
  Memory,
  MemoryEntry,
  MemoryForgotten,
  MemoryHit,
  MemoryPut,
  MemorySearch,
  NewMemoryEntry,
} from "../ports/memory.ts";
import type { RecordKey, StoredRecord } from "../ports/records.ts";
import type { World } from "../ports/world.ts";
import { fetchSource } from "./memory-sources.ts";
import { searchEntries } from "./memory-search.ts";
import { swapRecordUntil } from "./record-swap.ts";
import { learnSecrets, redactionIn } from "./secrets.ts";

export const MEMORY = {
  entriesMax: 500,
  textBytesMax: 4 * 1024,
  tagsMax: 16,
  tagCharactersMax: 64,
  sourceCharactersMax: 1_024,
  idsMax: 100,
} as const;

const PAGE = 100;
/** How often a write is tried again after another process changed the same entry. */
const TRIES_MAX = 5;

/** A memory: that of a tenant under this name. */
export interface Scope {
  readonly tenant: string;
  readonly scope: string;
}

export type MemoryWorld = Pick<World, "records" | "clock" | "secrets">;

const stored = z.looseObject({
  text: z.string(),
  tags: z.array(z.string()),
  source: z.string().optional(),
  etag: z.string().optional(),
  digest: z.string(),
  at: z.int(),
});

/** A tenant has no `/`, so no two scopes share a subject. */
const subjectOf = ({ tenant, scope }: Scope): string => `${tenant}/${scope}`;

/** Throws if the tenant is none, since it separates the memories of tenants. */
export function memoryOf(world: MemoryWorld, scope: Scope): Memory {
  if (!isTenant(scope.tenant)) throw new Error(`${JSON.stringify(scope.tenant)} is no tenant`);
  return {
    put: (entry) => put(world, scope, entry),
    get: (ids) => get(world, scope, ids),
    search: (text, options) => search(world, scope, text, options),
    forget: (id) => forget(world, scope, id),
    fetch: (source, ask, options) =>
      fetchSource(world, { subject: subjectOf(scope), ...scope }, { source, ask, ...options }),
  };
}

const keyOf = (scope: Scope, id: string): RecordKey => ({ kind: "memoryEntry", about: subjectOf(scope), id });

async function put(world: MemoryWorld, scope: Scope, given: NewMemoryEntry): Promise<MemoryPut> {
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
  const key = keyOf(scope, id);
  const expiresAtSec = lifeMs === undefined ? null : Math.ceil((now + lifeMs) / 1_000);
  const body = { ...says, digest, at: now };
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const found = await world.records.get(key, now);
    if (found === null) {
      if ((await allIn(world, scope)).length >= MEMORY.entriesMax)
        return { kind: "full", entriesMax: MEMORY.entriesMax };
    } else if (entryIn(found).digest === digest && found.expiresAtSec === expiresAtSec) {
      return { kind: "unchanged", id, digest };
    }
    const { tenant } = scope;
    if (await swapRecordUntil(world, { key, tenant, found, body, expiresAtSec })) return { kind: "kept", id, digest };
  }
  return { kind: "refused", why: "other processes keep changing it: try again later" };
}

async function get(world: MemoryWorld, scope: Scope, ids: readonly string[]): Promise<readonly MemoryEntry[]> {
  const now = world.clock.now();
  const found = await Promise.all(
    ids.slice(0, MEMORY.idsMax).map(async (id) => (isId(id) ? world.records.get(keyOf(scope, id), now) : null)),
  );
  return found.filter((record) => record !== null).map(entryIn);
}

const search = async (
  world: MemoryWorld,
  scope: Scope,
  text: string,
  options?: MemorySearch,
): Promise<readonly MemoryHit[]> => searchEntries(await allIn(world, scope), text, options);

/** An expired record is absent for every operation, and the store deletes it. */
async function forget(world: MemoryWorld, scope: Scope, id: string): Promise<MemoryForgotten> {
  for (let tries = 0; tries < TRIES_MAX && isId(id); tries += 1) {
    const now = world.clock.now();
    const key = keyOf(scope, id);
    const found = await world.records.get(key, now);
    if (found === null) return { kind: tries === 0 ? "missing" : "forgotten" };
    const gone = { key, tenant: scope.tenant, found, body: null, expiresAtSec: Math.floor(now / 1_000) };
    if (await swapRecordUntil(world, gone)) return { kind: "forgotten" };
  }
  return { kind: "missing" };
}

/** All entries of the scope, in pages. */
async function allIn({ records, clock }: MemoryWorld, scope: Scope): Promise<readonly MemoryEntry[]> {
  const entries: MemoryEntry[] = [];
  let after: string | null = null;
  do {
    const page = await records.list({
      ...{ kind: "memoryEntry", by: { about: subjectOf(scope) }, after, limit: PAGE, now: clock.now() },
    });
    entries.push(...page.records.map(entryIn));
    after = page.next;
  } while (after !== null);
  return entries;
}

function entryIn({ id, body }: StoredRecord): MemoryEntry {
  const read = stored.safeParse(body);
  if (!read.success) throw new Unreadable(`the memory entry ${id} cannot be read`, "RecordDamaged");
  const { text, tags, source, etag, digest, at } = read.data;
  return {
    ...{ id, text, tags, digest, at },
    ...(source === undefined ? {} : { source }),
    ...(etag === undefined ? {} : { etag }),
  };
}

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
