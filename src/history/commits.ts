/** The commits of recent snapshots in the memory of a warm process, so that sealing them needs no read. */
import type { Snapshot } from "../codec/snapshot.ts";

/** What one snapshot adds to the history, and where the history before it is. */
type Link = Pick<Snapshot, "previous" | "commits">;

/** By digest, what the snapshots added that this process wrote or read. The oldest leave first when the bound is reached. */
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
