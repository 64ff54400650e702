/**
 * What was ever committed, read back from where it lies: the journal in the row, the chain of snapshots, and from the
 * newest seal on the sealed events, each of which holds the commits of many snapshots. A thousand beats are tens of
 * reads.
 */
import { Unreadable } from "../codec/canonical.ts";
import { assertKnown } from "../codec/row.ts";
import { type Snapshot, assertFormat, decodeJournal } from "../codec/snapshot.ts";
import type { CommitRecord } from "../core/event.ts";
import type { SnapshotPointer } from "../protocol/row.ts";
import { type Source, readSealed, readSnapshot } from "./load.ts";

/** What one snapshot adds to the history, and where the history before it is. */
export type Link = Pick<Snapshot, "previous" | "commits">;

/**
 * What the snapshots added that a warm process wrote or read, by their digest: sealing them then needs no read. The
 * oldest leave first when the bound is reached.
 */
export class CommitCache {
  readonly #links = new Map<string, { readonly link: Link; readonly bytes: number }>();
  #bytes = 0;

  get(digest: string): Link | undefined {
    return this.#links.get(digest)?.link;
  }

  add(digest: string, { previous, commits }: Link): void {
    if (this.#links.has(digest)) return;
    const bytes = JSON.stringify(commits).length;
    this.#links.set(digest, { link: { previous, commits }, bytes });
    this.#bytes += bytes;
    for (const [oldest, held] of this.#links) {
      if (this.#bytes <= CACHE_BYTES_MAX) break;
      this.#links.delete(oldest);
      this.#bytes -= held.bytes;
    }
  }
}

const CACHE_BYTES_MAX = 16 * 1024 * 1024;

/** Every commit after version `after`, in order; nothing is read further back than that. */
export async function commitsAfter(from: Source, after: number): Promise<readonly CommitRecord[]> {
  const { commits, lost } = await commitsReadable(from, after);
  if (lost !== null) throw lost;
  return commits;
}

export interface Readable {
  /** In order, up to the last one. */
  readonly commits: readonly CommitRecord[];
  /** Why nothing before them could be read; null where it was read back to the version that was asked for. */
  readonly lost: Unreadable | null;
}

/** The commits after version `after`, from the newest back to the first one that cannot be read. */
export async function commitsReadable(from: Source, after: number): Promise<Readable> {
  const stretches: (readonly CommitRecord[])[] = [];
  let lost: Unreadable | null = null;
  try {
    for await (const stretch of stretchesBack(from, after)) stretches.push(stretch);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    lost = error;
  }
  return { commits: inOrder(stretches).filter(({ version }) => version > after), lost };
}

/**
 * The commits that were made after version `after`, and perhaps some before it, in stretches from the newest back. Each is
 * read when it is asked for, and not held.
 */
export async function* stretchesBack(from: Source, after: number): AsyncGenerator<readonly CommitRecord[]> {
  const { row } = from;
  assertKnown(row);
  assertFormat(row.format, `run ${row.run}`);
  yield decodeJournal(row.journal);
  if (row.snapshot.version <= after) return;
  const newest = await readSnapshot(from, row.snapshot);
  yield newest.commits;
  let { sealed } = newest;
  const floor = Math.max(after, sealed?.to ?? 0);
  const back = linksBack({ ...from, cache: new CommitCache() }, { pointer: newest.previous, floor });
  for await (const { commits } of back) yield commits;
  while (sealed !== null && sealed.to > after) {
    const { commits, previous } = await readSealed(from, sealed);
    yield commits;
    sealed = previous;
  }
}

/** What each snapshot added, from that one back to version `floor`, which is not among them. */
export async function* linksBack(
  from: Source & { readonly cache: CommitCache },
  to: { readonly pointer: SnapshotPointer | null; readonly floor: number },
): AsyncGenerator<Link> {
  let { pointer } = to;
  while (pointer !== null && pointer.version > to.floor) {
    const link: Link = from.cache.get(pointer.digest) ?? (await readSnapshot(from, pointer));
    from.cache.add(pointer.digest, link);
    yield link;
    pointer = link.previous;
  }
}

/** Stretches that were read newest first. */
export const inOrder = (stretches: readonly (readonly CommitRecord[])[]): readonly CommitRecord[] =>
  stretches.toReversed().flat();
