/** A cache of the commits in recent snapshots, so that a warm process can seal them without a read. */
import { BytesMap } from "../codec/bytes-map.ts";
import type { Snapshot } from "../codec/snapshot.ts";

/** The commits that one snapshot adds, and the pointer to the snapshot before it. */
type Link = Pick<Snapshot, "previous" | "commits">;

/** Links by snapshot digest, written or read by this process. */
export class CommitCache {
  readonly #links = new BytesMap<Link>(CACHE_BYTES_MAX);

  get(digest: string): Link | undefined {
    return this.#links.get(digest);
  }

  add(digest: string, { previous, commits }: Link): void {
    if (this.#links.get(digest) !== undefined) return;
    this.#links.set(digest, { previous, commits }, JSON.stringify(commits).length);
  }
}

const CACHE_BYTES_MAX = 16 * 1024 * 1024;
