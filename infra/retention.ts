/**
 * The lifecycle rules of the bucket: how long archives are kept. Only these rules move and delete archives; no function
 * may delete one. None expires by age below `runs/`: a rule counts from an object's creation, and a chat may live longer
 * than any number of days. There the daily search for orphans is behind the clean-up of removed rows, and the diagnosis
 * says whether it runs.
 *
 * Prices and break-even points are in docs/adr/0016-archives.md.
 */
import { ARCHIVES, type ArchiveTier } from "../src/core/policy/retention.ts";

/**
 * One rule, in S3's terms. A rule with a size is separate from the rule that expires, because smaller objects expire
 * too.
 */
export interface LifecycleRule {
  readonly id: string;
  readonly prefix: string;
  /** Only objects larger than this number of bytes. */
  readonly objectSizeGreaterThan?: number;
  readonly transition?: { readonly days: number; readonly storageClass: "STANDARD_IA" | "GLACIER_IR" };
  /** Days after the object's creation. */
  readonly expirationDays?: number;
}

/**
 * The days in which a deletion can be reversed. A deletion hides an object behind a delete marker, and no function may
 * delete the version below it. After this time purged data is gone.
 */
export const DELETED_DAYS = 7;

/** The minimum age at which S3 moves objects to STANDARD_IA. */
const WARM_MOVES_AFTER_DAYS = 30;
/** From this size on, 60 days at the lower price pay for the move. */
const WARM_MOVES_BYTES = 512 * 1024;
/** Smaller objects are billed as if they had this size. */
const COLD_MOVES_BYTES = 128 * 1024;

const expiryOf = (tier: ArchiveTier): LifecycleRule => ({
  id: `archive-${tier}-expires`,
  prefix: ARCHIVES[tier].prefix,
  expirationDays: ARCHIVES[tier].days,
});

/** The lifecycle rules of the bucket. */
export const LIFECYCLE_RULES: readonly LifecycleRule[] = [
  expiryOf("warm"),
  {
    id: "archive-warm-moves",
    prefix: ARCHIVES.warm.prefix,
    objectSizeGreaterThan: WARM_MOVES_BYTES,
    transition: { days: WARM_MOVES_AFTER_DAYS, storageClass: "STANDARD_IA" },
  },
  expiryOf("cold"),
  {
    id: "archive-cold-moves",
    prefix: ARCHIVES.cold.prefix,
    objectSizeGreaterThan: COLD_MOVES_BYTES,
    transition: { days: 0, storageClass: "GLACIER_IR" },
  },
];
