/** A cache of the commits in recent snapshots, so that a warm process can seal them without a read. */
import type { Snapshot } from "../codec/snapshot.ts";

/** The commits that one snapshot adds, and the pointer to the snapshot before it. */
type Link = Pick<Snapshot, "previous" | "commits">;

/** Links by snapshot digest, written or read by this process. Beyond its bound it evicts the oldest ones first. */
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
