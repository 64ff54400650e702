/**
 * Sealing: when 64 snapshots have been committed since the last seal, the next one first puts their commits into one
 * object and then names it. What is sealed is committed already and named by its content, so a crash in between leaves
 * an orphan, and a later epoch writes the very same bytes.
 *
 * A run does not go on from its history, so sealing never holds one up. Where time is short (a process that reads 64
 * snapshots in its last seconds is killed, and so is each retry), or where a snapshot behind the newest one cannot be
 * read, the history stays as it is, and the next 64 snapshots are sealed together with these.
 */
import { Unreadable } from "../codec/canonical.ts";
import { encodeSealed } from "../codec/sealed.ts";
import type { Seal } from "../codec/snapshot.ts";
import type { CommitRecord } from "../core/event.ts";
import { SIZES } from "../codec/limits.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { alarm } from "./alarm.ts";
import { type CommitCache, inOrder, linksBack } from "./commits.ts";
import { sealedKey } from "./object-keys.ts";

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
async function unsealedCommits({
  world,
  row,
  seal,
  cache,
  leftMs,
}: SealOptions): Promise<readonly CommitRecord[] | null> {
  const stretches: (readonly CommitRecord[])[] = [];
  const stretch = { pointer: row.snapshot, floor: seal.sealed?.to ?? 0 };
  try {
    for await (const { commits } of linksBack({ objects: world.objects, row, cache }, stretch)) {
      if (leftMs() <= 0) return null;
      stretches.push(commits);
    }
    return inOrder(stretches);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    alarm(world, row.run, { what: "HistoryUnreadable", why: `${error.code}: ${error.message}` });
    return null;
  }
}
