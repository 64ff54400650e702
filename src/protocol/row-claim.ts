/** Claims: the only way in which an invocation becomes the owner of a run, and the only place that counts deaths. */
import { type Entry, sameEntry, sameGroup } from "./entry.ts";
import { newerLevel } from "./newer.ts";
import { levelIn } from "../core/levels.ts";
import type { RowDecision } from "./row-decision.ts";
import { type Changed, type RunRef, type Refused, type Row, hasEnded } from "./row.ts";

/** An invocation's request to own a run. */
export interface Claim extends RunRef {
  readonly chain: number;
  readonly entry: Entry;
  /** The retry of this entry whose process is known to have died; null or absent without such evidence. */
  readonly died?: number | null;
  /** The random name of this invocation. */
  readonly owner: string;
  readonly leaseUntil: number;
  /** The level that this process knows (`core/levels.ts`); absent: the lowest level. */
  readonly level?: number;
}

/**
 * `overtook`: the owner that had not released the run, or null. `terminal`: the run has ended. `superseded`: the run
 * belongs to another execution, or to a later attempt of this one.
 */
export type ClaimOutcome =
  | (Changed<"granted"> & { readonly overtook: string | null })
  | Changed<"superseded">
  | Changed<"terminal">
  | Refused;

/**
 * Decides a claim.
 *
 * Schedule 1: attempt 0 of a beat freezes before its claim, attempt 1 does the beat and releases, and attempt 0 thaws.
 * Its claim is refused: the epoch in its payload is over, and its retry is not above the one that claimed its entry.
 *
 * Schedule 102: a process that is too old does not go on with a run that it could claim. The outcome is `newer`,
 * neither `superseded` nor `terminal`, so the chain tries again until a newer process claims the run.
 */
export function decideClaim(row: Row, claim: Claim): ClaimOutcome {
  const { entry } = claim;
  const next = row.epoch === entry.epoch;
  const retried = sameEntry(row.entry, entry) && (row.entry?.retry ?? 0) < entry.retry;
  const isMine = row.chain === claim.chain && (next || retried);
  if (levelIn(row) > levelIn(claim)) return isMine ? newerLevel(row, levelIn(claim)) : { kind: "superseded", row };
  if (hasEnded(row)) return { kind: "terminal", row };
  if (!isMine) return { kind: "superseded", row };
  const overtaken = row.owner !== null;
  return {
    kind: "granted",
    overtook: row.owner,
    row: {
      ...row,
      epoch: row.epoch + 1,
      owner: claim.owner,
      leaseUntil: claim.leaseUntil,
      entry,
      claims: row.claims + 1,
      unaccountedModelCalls: row.unaccountedModelCalls + row.marksAtClaim,
      ...(row.status === "queued" ? { status: "running", statusSince: claim.now } : {}),
      chainClaims: row.chainClaims + 1,
      claimedAt: claim.now,
      park: null,
      // Schedules 3 to 5: the owner that lost the run may still act within its lease, which may look expired by our
      // clock.
      effectsSettleAt: overtaken ? Math.max(row.effectsSettleAt, row.leaseUntil ?? 0) : row.effectsSettleAt,
      takeovers: row.takeovers + (overtaken ? 1 : 0),
      deaths: deathsAfter(row, deadOf(claim)),
    },
  };
}

export const CLAIM: RowDecision<Claim, ClaimOutcome> = {
  name: "claim",
  decision: decideClaim,
  durable: () => "shared",
};

/** The attempt of the claim's own entry whose process is known to have died, or null. */
const deadOf = ({ entry, died = null }: Pick<Claim, "entry" | "died">): Entry | null =>
  died === null ? null : { ...entry, retry: died };

/**
 * The deaths of a run after new evidence. A death counts once: the run must have an owner, and that owner's attempt
 * must be the one whose process is known to have died. An owner that a store outage left behind is no death, and
 * neither is an entry that no process claimed.
 */
export function deathsAfter(row: Row, dead: Entry | null): number {
  const isDead = row.owner !== null && dead !== null && sameGroup(row.entry, dead);
  return row.deaths + (isDead ? 1 : 0);
}
