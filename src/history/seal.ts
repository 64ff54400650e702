/**
 * Sealing: when 64 snapshots have been committed since the last seal, the next one first puts their commits into one
 * object and then names it. What is sealed is committed already and named by its content, so a crash in between leaves
 * an orphan, and a later epoch writes the very same bytes.
 *
 * A run does not go on from its history, so sealing never holds one up. Where time is short (a process that reads 64
 * snapshots in its last seconds is killed, and so is each retry), or where a snapshot behind the newest one cannot be
 * read, the history stays as it is, and the next 64 snapshots are sealed together with these.
 */
import { encodeSealed } from "../codec/sealed.ts";
import type { Seal } from "../codec/snapshot.ts";
import type { CommitRecord } from "../core/event.ts";
import { SIZES } from "../codec/limits.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { alarm } from "./alarm.ts";
import type { CommitCache } from "./commits.ts";
import { readSnapshot } from "./load.ts";
import { sealedKey } from "./object-keys.ts";
import { chainBack, inOrder } from "./reader.ts";

export interface Sealing {
  /** What the next snapshot says. */
  readonly seal: Seal;
  /** What has to be stored before it. */
  readonly object: { readonly key: string; readonly bytes: Uint8Array } | null;
}

export interface SealOptions {
  readonly world: World;
  /** As it is committed, and what its snapshot says. */
  readonly row: Row;
  readonly seal: Seal;
  readonly cache: CommitCache;
  /** What is left for work. */
  readonly leftMs: () => number;
}

export async function nextSeal(of: SealOptions): Promise<Sealing> {
  const { sealed, unsealed } = of.seal;
  const isDue = unsealed > 0 && unsealed % SIZES.snapshotsPerSeal === 0;
  const commits = isDue ? await unsealedCommits(of) : null;
  if (commits === null) return { seal: { sealed, unsealed: unsealed + 1 }, object: null };
  const from = (sealed?.to ?? 0) + 1;
  const { ref, bytes } = encodeSealed({ from, to: of.row.snapshot.version, previous: sealed, commits });
  const key = sealedKey(of.row, ref);
  return { seal: { sealed: { ...ref, key }, unsealed: 1 }, object: { key, bytes } };
}

/** Every commit since the last seal up to the committed snapshot, or null where they are not to be had now. */
async function unsealedCommits(of: SealOptions): Promise<readonly CommitRecord[] | null> {
  const { world, row, seal, cache, leftMs } = of;
  const pieces: (readonly CommitRecord[])[] = [];
  const floor = seal.sealed?.to ?? 0;
  const back = chainBack(row.snapshot, {
    isWanted: ({ version }) => version > floor,
    read: async (pointer) => cache.get(pointer.digest) ?? readSnapshot({ objects: world.objects, row }, pointer),
  });
  for await (const piece of back) {
    if (piece.kind === "damaged") {
      const { code, message } = piece.error;
      alarm(world, row.run, { what: "HistoryUnreadable", why: `${code}: ${message}` });
      return null;
    }
    cache.add(piece.pointer.digest, piece.link);
    if (leftMs() <= 0) return null;
    pieces.push(piece.link.commits);
  }
  return inOrder(pieces);
}
