/**
 * Removing an ended run before its time. What it still owes is told first, then its archive goes, then its row, then what it
 * leaves behind. A crash after the row leaves the rest to the clean-up that every removal leads to; that one knows of no
 * archive, so the archive goes while there is a row that names it.
 *
 * Schedule 51: whoever tells an end freezes before it puts the archive; another one puts it and tells; a person purges the
 * run; the frozen one thaws and puts the archive again, and nobody ever looks for it. So an archive is removed only when
 * everybody is dead who can have found the end untold.
 *
 * The idempotency key stays, unless the operator wants it forgotten: a late retry must not start the work again because
 * the data was removed. The tombstone goes last, so a crash in between leaves a key that can be forgotten later.
 */
import { Unreadable } from "../codec/canonical.ts";
import { RowNewer, assertKnown } from "../codec/row.ts";
import { ARCHIVE_TIERS } from "../core/policy/retention.ts";
import { TIMES, hotMsOf } from "../protocol/limits.ts";
import { FORMAT, type Incarnation, type Row, hasEnded } from "../protocol/row.ts";
import type { PurgeOutcome } from "../protocol/row-removal.ts";
import type { Tombstone } from "../protocol/tombstone.ts";
import type { World } from "../ports/world.ts";
import { certainly } from "../history/resolve-ambiguous-write.ts";
import { cleanUp, isStored } from "../history/clean-up.ts";
import { tellEnd } from "../engine/loop/terminal-commit.ts";
import { archivesUnder } from "../history/object-keys.ts";
import { keepKeyOfEnded } from "../engine/loop/kept-key.ts";
import { SegmentCache } from "../history/load.ts";
import { loadVouched } from "../history/vouch.ts";

export type Purged =
  | { readonly kind: "purged"; readonly row: Row }
  /** Its data was gone already, and now its key is as well. */
  | { readonly kind: "forgotten"; readonly tombstone: Tombstone }
  /** It has not ended, so it is not removed. */
  | { readonly kind: "live"; readonly row: Row }
  /** Its archive may still be on its way; from then on, epoch milliseconds, it is not. */
  | { readonly kind: "tooEarly"; readonly from: number }
  | { readonly kind: "unreadable" }
  | { readonly kind: "missing" };

export interface PurgeOptions {
  /** Its archive stays, and the run goes at once. */
  readonly keepArchive?: boolean;
  /** The same key may start the work again. */
  readonly forgetKey?: boolean;
}

export async function purge(world: World, run: string, options: PurgeOptions = {}): Promise<Purged> {
  const { keepArchive = false, forgetKey = false } = options;
  const row = await world.table.read(run, world.clock.earliest());
  if (row === null) return forgetKey ? forgetLater(world, run) : { kind: "missing" };
  assertKnown(row);
  if (!hasEnded(row)) return { kind: "live", row };
  await tellEnd(world, row);
  if (!keepArchive) {
    const from = await removeArchive(world, row);
    if (from !== null) return { kind: "tooEarly", from };
  }
  const { born } = row;
  // An older cairn ended runs without it.
  if (!forgetKey) await keepKeyOfEnded(world, row, row.expiresAtSec ?? 0);
  const outcome = await certainly<PurgeOutcome>(
    () => world.table.purge({ run, born, now: world.clock.earliest() }),
    // Its own first copy leaves no row to be recognised in.
    () => null,
  );
  if (outcome.kind === "newer") throw new RowNewer(run, outcome);
  if (outcome.kind === "unreadable") return { kind: "unreadable" };
  if (outcome.kind === "kept") return { kind: "live", row: outcome.row };
  // Its time ran out meanwhile: it goes without us.
  if (outcome.kind === "missing" && (await isStored(world, row))) return { kind: "missing" };
  await cleanUp(world, row);
  if (forgetKey) await forget(world, row);
  return { kind: "purged", row };
}

/** The data of the run is gone, by its time or by an earlier purge; its key may still be kept. */
async function forgetLater(world: World, run: string): Promise<Purged> {
  const tombstone = await world.table.readKey(run, world.clock.earliest());
  if (tombstone === null) return { kind: "missing" };
  await forget(world, tombstone);
  return { kind: "forgotten", tombstone };
}

const forget = (world: World, { run, born }: Incarnation): Promise<{ readonly kind: "forgotten" }> =>
  certainly<{ readonly kind: "forgotten" }>(
    () => world.table.forgetKey({ run, born }),
    () => null,
  );

/** Null when there is none any more; else from when on it can be removed. */
async function removeArchive(world: World, { run, born }: Row): Promise<number | null> {
  const { limits, clock, objects } = world;
  const row = await world.table.read(run, clock.earliest());
  // Nothing is removed of a run that stays: its end cannot be told, or another version wrote it.
  if (row === null || row.born !== born || row.format !== FORMAT || !row.told) return null;
  const { tiers, retention } = await archivesOf(world, row);
  if (tiers.length === 0) return null;
  const toldAt = Math.max((row.expiresAtSec ?? 0) * 1_000 - hotMsOf(limits, retention), row.statusSince);
  const from = toldAt + TIMES.invocationMsMax + limits.skewMs;
  if (clock.earliest() < from) return from;
  for (const tier of tiers) await objects.removeUnder(archivesUnder(row, tier));
  return null;
}

/** Where its archive may lie: anywhere, if it cannot be read any more what the run asked for. */
async function archivesOf(world: World, row: Row) {
  try {
    const { retention } = (await loadVouched(world, row, new SegmentCache())).state;
    return { tiers: ARCHIVE_TIERS.filter((tier) => tier === retention?.archive), retention };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { tiers: ARCHIVE_TIERS, retention: undefined };
  }
}
