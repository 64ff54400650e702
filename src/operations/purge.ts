/**
 * Purges a finished run before its retention expires: it delivers the end, deletes the archive, the row, then the rest.
 * A crash after the row leaves the rest to the clean-up that every removal triggers. That clean-up does not know
 * archives, so the archive is deleted while the row still names it.
 *
 * Schedule 51: a process that delivers the end freezes before it stores the archive. A second process stores the
 * archive and delivers the end. An operator purges the run. The first process thaws and stores the archive again, and
 * nothing ever deletes it. So an archive is deleted only when every process that can have found the end undelivered is
 * dead.
 *
 * The idempotency key stays unless the operator wants it forgotten: a late retry must not repeat the work just because
 * the data was deleted. The tombstone goes last, so after a crash in between the key can still be forgotten later.
 */
import { Unreadable } from "../codec/canonical.ts";
import { RowNewer, assertKnown } from "../codec/row.ts";
import { ARCHIVE_TIERS } from "../core/policy/retention.ts";
import { TIMES, hotMsOf } from "../protocol/limits.ts";
import { FORMAT, type Incarnation, type Row, hasEnded } from "../protocol/row.ts";
import { type PurgeOutcome, PURGE } from "../protocol/row-removal.ts";
import type { Tombstone } from "../protocol/tombstone.ts";
import type { World } from "../ports/world.ts";
import { resolveAmbiguousWrite } from "../history/resolve-ambiguous-write.ts";
import { cleanUp, isStored } from "../history/clean-up.ts";
import { notifyEnd } from "../engine/loop/terminal-commit.ts";
import { archivesUnder } from "../history/object-keys.ts";
import { SegmentCache } from "../history/load.ts";
import { loadVouched } from "../history/vouch.ts";

/** The outcome of a purge. */
export type Purged =
  | { readonly kind: "purged"; readonly row: Row }
  /** The data was gone already, and now the key is forgotten as well. */
  | { readonly kind: "forgotten"; readonly tombstone: Tombstone }
  /** The run has not ended, so it is not purged. `isCancelled`: it was asked to end. */
  | { readonly kind: "live"; readonly row: Row; readonly isCancelled: boolean }
  /** The archive may still be written until `from` (epoch milliseconds). */
  | { readonly kind: "tooEarly"; readonly from: number }
  | { readonly kind: "unreadable" }
  | { readonly kind: "missing" };

export interface PurgeOptions {
  /** The archive stays, and the run is purged at once. */
  readonly keepArchive?: boolean;
  /** The key is freed: a start with it begins the work again. */
  readonly forgetKey?: boolean;
}

/** Can be repeated after a crash. Throws `RowNewer` if a newer version of cairn wrote the run. */
export async function purge(world: World, run: string, options: PurgeOptions = {}): Promise<Purged> {
  const { keepArchive = false, forgetKey = false } = options;
  const row = await world.table.read(run, world.clock.earliest());
  if (row === null) return forgetKey ? forgetLater(world, run) : { kind: "missing" };
  assertKnown(row);
  if (!hasEnded(row)) return { kind: "live", row, isCancelled: row.cancel };
  await notifyEnd(world, row);
  if (!keepArchive) {
    const from = await removeArchive(world, row);
    if (from !== null) return { kind: "tooEarly", from };
  }
  const { born } = row;
  const outcome = await resolveAmbiguousWrite<PurgeOutcome>(
    () => world.table.decide({ run, born, now: world.clock.earliest() }, PURGE),
    // If the first copy of this write was applied, no row is left that could show it.
    () => null,
  );
  if (outcome.kind === "newer") throw new RowNewer(run, outcome);
  if (outcome.kind === "unreadable") return { kind: "unreadable" };
  if (outcome.kind === "kept") return { kind: "live", row: outcome.row, isCancelled: outcome.row.cancel };
  // The retention expired in between, so the store removes the row.
  if (outcome.kind === "missing" && (await isStored(world, row))) return { kind: "missing" };
  await cleanUp(world, row);
  if (forgetKey) await forget(world, row);
  return { kind: "purged", row };
}

/** The data of the run is gone, by its retention or by an earlier purge. Its key may still be kept. */
async function forgetLater(world: World, run: string): Promise<Purged> {
  const tombstone = await world.table.readKey(run, world.clock.earliest());
  if (tombstone === null) return { kind: "missing" };
  await forget(world, tombstone);
  return { kind: "forgotten", tombstone };
}

const forget = (world: World, { run, born }: Incarnation): Promise<{ readonly kind: "forgotten" }> =>
  resolveAmbiguousWrite<{ readonly kind: "forgotten" }>(
    () => world.table.forgetKey({ run, born }),
    () => null,
  );

/** Null if no archive is left; else the time from which it can be deleted (epoch milliseconds). */
async function removeArchive(world: World, { run, born }: Row): Promise<number | null> {
  const { limits, clock, objects } = world;
  const row = await world.table.read(run, clock.earliest());
  // A run that stays keeps its archive: its end cannot be delivered, or another version of cairn wrote it.
  if (row === null || row.born !== born || row.format !== FORMAT || !row.endNotified) return null;
  const { tiers, retention } = await archivesOf(world, row);
  if (tiers.length === 0) return null;
  const toldAt = Math.max((row.expiresAtSec ?? 0) * 1_000 - hotMsOf(limits, retention), row.statusSince);
  const from = toldAt + TIMES.invocationMsMax + limits.skewMs;
  if (clock.earliest() < from) return from;
  for (const tier of tiers) await objects.removeUnder(archivesUnder(row, tier));
  return null;
}

/** The tiers that may hold the archive: all of them if the state cannot be read. */
async function archivesOf(world: World, row: Row) {
  try {
    const { retention } = (await loadVouched(world, row, new SegmentCache())).state;
    return { tiers: ARCHIVE_TIERS.filter((tier) => tier === retention?.archive), retention };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { tiers: ARCHIVE_TIERS, retention: undefined };
  }
}
