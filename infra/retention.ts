/**
 * How long objects last in the bucket: what its lifecycle has to be. Below `runs/` it is a backstop behind the clean-up of
 * removed rows, and counts from the moment at which each object was put. Archives are moved and expire by it alone: no
 * function of ours may delete one.
 *
 * Prices and the break-even points behind the bounds are in docs/adr/0016-archives.md.
 */
import { ARCHIVES, type ArchiveTier } from "../src/core/policy/retention.ts";

/** One rule, in the words of S3. A rule with a size is a rule of its own: what is smaller expires as well. */
export interface LifecycleRule {
  readonly id: string;
  readonly prefix: string;
  /** Only objects that are larger, in bytes. */
  readonly objectSizeGreaterThan?: number;
  readonly transition?: { readonly days: number; readonly storageClass: "STANDARD_IA" | "GLACIER_IR" };
  /** Days after it was put. */
  readonly expirationDays?: number;
}

/** A run may live for long and its first snapshot is as old as it is: longer than any run is meant to. */
const RUNS_DAYS = 400;

/**
 * How long what was deleted can be brought back: a deletion hides an object under a mark, and no function may delete what
 * lies under it. What was purged is gone after that time.
 */
export const DELETED_DAYS = 7;

/** S3 moves nothing to STANDARD_IA before that. */
const WARM_MOVES_AFTER_DAYS = 30;
/** 60 days of the lower price pay for the move of an object from this size on. */
const WARM_MOVES_BYTES = 512 * 1024;
/** What is smaller is billed as if it had this size. */
const COLD_MOVES_BYTES = 128 * 1024;

const expiryOf = (tier: ArchiveTier): LifecycleRule => ({
  id: `archive-${tier}-expires`,
  prefix: ARCHIVES[tier].prefix,
  expirationDays: ARCHIVES[tier].days,
});

export const LIFECYCLE_RULES: readonly LifecycleRule[] = [
  { id: "runs-backstop", prefix: "runs/", expirationDays: RUNS_DAYS },
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
