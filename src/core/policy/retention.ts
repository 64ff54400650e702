/**
 * How long a finished run is kept, and what is archived (hot for inspection and forks, warm, cold). The agent
 * declares it. The state of each run keeps the declaration from its start, since a run may end without its agent's
 * code.
 */
export const ARCHIVE_TIERS = ["warm", "cold"] as const;
export type ArchiveTier = (typeof ARCHIVE_TIERS)[number];

/** The retention that an agent declares. */
export interface RunRetention {
  /** How long the run stays after its end was delivered, in milliseconds; null: the world's default. */
  readonly hotMs: number | null;
  /** One object with the whole history, stored before `told` is set; null: no archive. */
  readonly archive: ArchiveTier | null;
}

/** The key prefix of each archive tier, and its retention in days. Object stores expire objects by prefix. */
export const ARCHIVES: { readonly [T in ArchiveTier]: { readonly prefix: string; readonly days: number } } = {
  warm: { prefix: "archive/warm/", days: 90 },
  /** Seven years, which auditors usually require. */
  cold: { prefix: "archive/cold/", days: 2_557 },
};
