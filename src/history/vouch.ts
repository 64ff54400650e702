/**
 * Keyed seals: whether a process with the key wrote the stored data of a run. Each snapshot is sealed and names the one
 * before it by digest, so the seal of the newest snapshot covers the whole history. The journal has a seal of its own.
 *
 * A seal cannot prove that nothing is missing: it does not detect a deleted run, or one set back to an older snapshot.
 */
import { Unreadable } from "../codec/canonical.ts";
import { sealOfJournal } from "../codec/journal.ts";
import { type Snapshot } from "../codec/snapshot.ts";
import { type SealedBy, type Sign, isGenuine, vouchFor } from "../codec/voucher.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { type Loaded, type SegmentCache, load, readSnapshot } from "./load.ts";

/** Signs with the current key; null if this process does not seal. */
export async function signIn({ sealKeys }: Pick<World, "sealKeys">): Promise<Sign | null> {
  const key = await sealKeys.current();
  return key === null ? null : (what, digest) => vouchFor(key, what, digest);
}

/** The verdict about one seal. `unknown key`: this process does not have the key that the seal names. */
export type JudgedSeal = "genuine" | "forged" | "unknown key";

/** Checks one seal with the key that it names. */
export async function judgeSeal({ sealKeys }: Pick<World, "sealKeys">, sealedBy: SealedBy): Promise<JudgedSeal> {
  const key = await sealKeys.find(sealedBy.voucher);
  if (key === null) return "unknown key";
  return isGenuine(key, sealedBy.what, sealedBy) ? "genuine" : "forged";
}

type Of = Pick<World, "objects" | "sealKeys">;

/** Loads a run if its seals are valid. Throws `Unreadable`. */
export async function loadVouched(
  world: Of & Pick<World, "kernel">,
  row: Row,
  cache: SegmentCache,
  level?: number,
): Promise<Loaded> {
  const loaded = await load(world, row, cache, level);
  await assertSealed(world, loaded);
  return loaded;
}

async function assertSealed(world: Of, { row, snapshot }: Loaded): Promise<void> {
  if (world.sealKeys.mode === "off") return;
  const isSealed = snapshot.sealedBy !== undefined;
  if (snapshot.sealedBy !== undefined) await assertGenuine(world, `snapshot ${snapshot.version}`, snapshot.sealedBy);
  else await assertNeverSealed(world, { row, snapshot });
  if (row.journal === null) return;
  const sealedBy = sealOfJournal({ ...row, journal: row.journal });
  if (sealedBy !== null) await assertGenuine(world, "the journal", sealedBy);
  else if (isSealed) throw sealMissing("the journal", "the snapshot that it follows is sealed");
}

async function assertGenuine(world: Of, where: string, sealedBy: SealedBy) {
  const judged = await judgeSeal(world, sealedBy);
  if (judged === "genuine") return;
  const { key } = sealedBy.voucher;
  if (judged === "forged")
    throw new Unreadable(`${where} was not written with key ${key} that its seal names`, "SealForged");
  const mend = "give this process that key as well, as one of CAIRN_SEAL_KEYS_OLD";
  throw new Unreadable(
    `${where} is sealed with key ${key}, which this process does not have: ${mend}`,
    "SealKeyUnknown",
  );
}

/** A run may begin without seals. After the first seal each snapshot needs one. */
async function assertNeverSealed(world: Of, { row, snapshot }: Pick<Loaded, "row" | "snapshot">): Promise<void> {
  const where = `snapshot ${snapshot.version}`;
  if (world.sealKeys.mode === "required") throw sealMissing(where, "this process reads nothing without a seal");
  if (snapshot.previous === null) return;
  const before = await readSnapshot({ objects: world.objects, row }, snapshot.previous);
  if (before.sealedBy !== undefined) throw sealMissing(where, "the snapshot before it is sealed");
}

const sealMissing = (where: string, why: string): Unreadable =>
  new Unreadable(`${where} has no seal, and ${why}: it was written without the key`, "SealMissing");

/** Refuses to commit without the key: processes that have it would take the result for a forgery. */
export function assertMaySeal({ sealKeys }: World, { sealedBy }: Snapshot): void {
  if (sealedBy === undefined || sealKeys.mode !== "off") return;
  const mend = "give this process that key (CAIRN_SEAL_KEY)";
  throw new Unreadable(
    `the run is sealed with key ${sealedBy.voucher.key}, and this process has no key: ${mend}`,
    "SealKeyMissing",
  );
}
