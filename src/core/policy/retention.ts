/**
 * How long an ended run is kept, and what of it stays after that (seed 3: hot to be looked at and forked, warm, cold). An
 * agent says so; its runs keep in their state what it said when they were started, since many a run ends without it.
 */
export const ARCHIVE_TIERS = ["warm", "cold"] as const;
export type ArchiveTier = (typeof ARCHIVE_TIERS)[number];

export interface Retention {
  /** How long the run itself stays after its end was told; null takes the world's default. */
  readonly hotMs: number | null;
  /** One object with everything that happened, put before the end is told; null: nothing stays. */
  readonly archive: ArchiveTier | null;
}

/** What each archived object of a tier is called, and how many days it stays. Stores go by the beginning of the key. */
export const ARCHIVES: { readonly [T in ArchiveTier]: { readonly prefix: string; readonly days: number } } = {
  warm: { prefix: "archive/warm/", days: 90 },
  /** Seven years: what auditors ask for. */
  cold: { prefix: "archive/cold/", days: 2_557 },
};
