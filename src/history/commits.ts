/**
 * A cache of the commits in recent snapshots, so that a warm process can seal them without a read. It keeps their text:
 * the events as objects take several times the bytes, and sealing needs only the text.
 */
import { BytesMap } from "../codec/bytes-map.ts";
import { type Snapshot, encodeCommits } from "../codec/snapshot.ts";
import type { SnapshotPointer } from "../protocol/row.ts";

/** The canonical text of the commits that one snapshot adds, and the pointer to the snapshot before it. */
interface Link extends Pick<Snapshot, "previous"> {
  readonly text: string;
}

/** Links by snapshot digest, written or read by this process. */
export class CommitCache {
  readonly #links = new BytesMap<Link>(CACHE_BYTES_MAX);

  get(digest: string): Link | undefined {
    return this.#links.get(digest);
  }

  /** Adds a snapshot of that digest, and returns what it keeps of it. */
  add(digest: string, { previous, commits }: Pick<Snapshot, "previous" | "commits">): Link {
    const known = this.#links.get(digest);
    if (known !== undefined) return known;
    const link = { previous, text: encodeCommits(commits) };
    this.#links.set(digest, link, link.text.length);
    return link;
  }

  /** Drops that snapshot and those before it: sealed events have their commits, so no process seals them again. */
  dropFrom(newest: SnapshotPointer): void {
    for (let next: SnapshotPointer | null = newest; next !== null;) {
      const link = this.#links.get(next.digest);
      this.#links.delete(next.digest);
      next = link?.previous ?? null;
    }
  }
}

const CACHE_BYTES_MAX = 16 * 1024 * 1024;
