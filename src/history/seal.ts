/**
 * Sealing: after 64 snapshots since the last seal, the next checkpoint first puts their commits into one object and
 * then names it. Sealed events are committed already and content-addressed. So a crash in between leaves an orphan, and
 * a later epoch writes the very same bytes.
 *
 * No run needs its history to continue, so sealing never blocks a run. It is postponed when time is short: a process that
 * reads 64 snapshots in its last seconds would be killed, and so would each retry. It is also postponed when a snapshot
 * behind the newest one cannot be read. The next 64 snapshots are then sealed together with these.
 */
import { encodeSealed } from "../codec/sealed.ts";
import type { Seal } from "../codec/snapshot.ts";
import { SIZES } from "../codec/limits.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { alarm } from "./alarm.ts";
import type { CommitCache } from "./commits.ts";
import { readSnapshot } from "./load.ts";
import { sealedKey } from "./object-keys.ts";
import { chainBack } from "./reader.ts";

/** The result of `nextSeal`. */
export interface Sealing {
  /** The seal that the next snapshot records. */
  readonly seal: Seal;
  /** The object to store before that snapshot; null if none is due. */
  readonly object: { readonly key: string; readonly bytes: Uint8Array } | null;
}

export interface SealOptions {
  readonly world: World;
  /** The committed row, and the seal of its snapshot. */
  readonly row: Row;
  readonly seal: Seal;
  readonly cache: CommitCache;
  /** Milliseconds that are left for work in this invocation. */
  readonly leftMs: () => number;
}

/** The seal of the next snapshot, and the sealed events to store before it. */
export async function nextSeal(options: SealOptions): Promise<Sealing> {
  const { sealed, unsealed } = options.seal;
  const isDue = unsealed > 0 && unsealed % SIZES.snapshotsPerSeal === 0;
  const commits = isDue ? await unsealedCommits(options) : null;
  if (commits === null) return { seal: { sealed, unsealed: unsealed + 1 }, object: null };
  const from = (sealed?.to ?? 0) + 1;
  const { ref, bytes } = encodeSealed({ from, to: options.row.snapshot.version, previous: sealed, commits });
  const key = sealedKey(options.row, ref);
  return { seal: { sealed: { ...ref, key }, unsealed: 1 }, object: { key, bytes } };
}

/** The texts of all commits after the last seal up to the committed snapshot; null if they cannot be read now. */
async function unsealedCommits({ world, row, seal, cache, leftMs }: SealOptions): Promise<readonly string[] | null> {
  const texts: string[] = [];
  const floor = seal.sealed?.to ?? 0;
  const back = chainBack(row.snapshot, {
    isWanted: ({ version }) => version > floor,
    read: async (pointer) => {
      const known = cache.get(pointer.digest);
      return known ?? cache.add(pointer.digest, await readSnapshot({ objects: world.objects, row }, pointer));
    },
  });
  for await (const piece of back) {
    if (piece.kind === "damaged") {
      const { code, message } = piece.error;
      alarm(world, row.run, { what: "HistoryUnreadable", why: `${code}: ${message}` });
      return null;
    }
    if (leftMs() <= 0) return null;
    texts.push(piece.link.text);
  }
  return texts.toReversed();
}
