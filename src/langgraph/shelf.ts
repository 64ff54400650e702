/**
 * Checkpoints as objects that are put once: no object changes and no pointer moves, so writers need no lock, and a
 * reader sees each object whole or not at all.
 *
 * LangGraph may store one checkpoint, or the writes of one task, a second time with other content. That becomes the next
 * revision beside the first one. Two writers that store at once get a revision each; the later one counts.
 */
import { resolveAmbiguousPut } from "../history/resolve-ambiguous-write.ts";
import { CairnError } from "../client/errors.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { type CheckpointRef, partsOf, prefixOfCheckpoint, prefixOfWrites } from "./keys.ts";

/** LangGraph writes one checkpoint again after each answer to its interrupts, so a few revisions are usual. */
const REVISIONS_MAX = 1_000;
const DIGITS = String(REVISIONS_MAX - 1).length;
/** Keys for each listing: of one checkpoint, and of a walk. */
const PAGE = 1_000;
const FIRST_PAGE = 100;

/** A stored checkpoint: the keys of its newest revision, and of all revisions of its writes in their order. */
export interface StoredCheckpoint {
  readonly prefix: string;
  readonly threadPrefix: string;
  readonly id: string;
  /** Null if only writes are there: their checkpoint is on its way, or was removed. */
  readonly checkpoint: string | null;
  readonly writes: readonly string[];
  /** When its last object was put, by the store's clock; epoch milliseconds. */
  readonly putAt: number;
}

export const putCheckpoint = (objects: ObjectStore, ref: CheckpointRef, bytes: Uint8Array): Promise<void> =>
  putRevision(objects, `${prefixOfCheckpoint(ref)}c/`, bytes);

export const putWrites = (
  objects: ObjectStore,
  ref: CheckpointRef & { readonly task: string },
  bytes: Uint8Array,
): Promise<void> => putRevision(objects, prefixOfWrites(ref, ref.task), bytes);

async function putRevision(objects: ObjectStore, prefix: string, bytes: Uint8Array): Promise<void> {
  for (let revision = 0; revision < REVISIONS_MAX; revision += 1) {
    const key = `${prefix}${String(revision).padStart(DIGITS, "0")}`;
    const outcome = await resolveAmbiguousPut(() => objects.put(key, bytes, "now"));
    if (outcome === "stored") return;
    const stored = await objects.get(key);
    if (stored !== null && Buffer.from(stored).equals(bytes)) return;
  }
  throw new CairnError(
    `${prefix} has ${REVISIONS_MAX} revisions, which is the limit; continue from a newer checkpoint of the thread`,
    { code: "CheckpointRevisionsExhausted", status: null, facts: { prefix, revisionsMax: REVISIONS_MAX } },
  );
}

/** One checkpoint; null if nothing of it is stored. */
export async function findCheckpoint(objects: ObjectStore, ref: CheckpointRef): Promise<StoredCheckpoint | null> {
  for await (const found of walk(objects, prefixOfCheckpoint(ref))) return found;
  return null;
}

/** All checkpoints below a prefix: by thread, then by namespace, then the newest first. Reads keys only. */
export async function* walk(objects: ObjectStore, under: string): AsyncGenerator<StoredCheckpoint> {
  let open: Gathered | null = null;
  let after = under;
  for (let limit = FIRST_PAGE; ; limit = PAGE) {
    const page = await objects.keysAfter(after, limit);
    for (const { key, putAt } of page) {
      if (!key.startsWith(under)) {
        if (open !== null) yield foundIn(open);
        return;
      }
      after = key;
      const parts = partsOf(key);
      if (parts === null) continue;
      if (open !== null && open.prefix !== parts.prefix) {
        yield foundIn(open);
        open = null;
      }
      open ??= { prefix: parts.prefix, threadPrefix: parts.threadPrefix, id: parts.id, entries: [] };
      open.entries.push({ key, isCheckpoint: parts.isCheckpoint, putAt });
    }
    // A page may be short although more follow. Only an empty one says that none does.
    if (page.length === 0) break;
  }
  if (open !== null) yield foundIn(open);
}

interface Gathered {
  readonly prefix: string;
  readonly threadPrefix: string;
  readonly id: string;
  readonly entries: { readonly key: string; readonly isCheckpoint: boolean; readonly putAt: number }[];
}

function foundIn({ prefix, threadPrefix, id, entries }: Gathered): StoredCheckpoint {
  const revisions = entries.filter(({ isCheckpoint }) => isCheckpoint);
  const writes = entries.filter(({ isCheckpoint }) => !isCheckpoint).map(({ key }) => key);
  const putAt = Math.max(...entries.map((each) => each.putAt));
  return { prefix, threadPrefix, id, checkpoint: revisions.at(-1)?.key ?? null, writes, putAt };
}
