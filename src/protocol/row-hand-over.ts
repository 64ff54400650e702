/**
 * Handing a run to the next execution of its chain: by its own last beat, by Rescue, or by the sweeper. Rescue and sweeper
 * hold no lease, so the time until which a lost owner's effects may still land is kept here for the next claim.
 */
import type { Entry } from "./entry.ts";
import { type Changed, type Of, type Refused, type Row, hasEnded } from "./row.ts";
import { deathsAfter } from "./row-claim.ts";

export interface HandOver extends Of {
  /** The execution that is over. */
  readonly chain: number;
  /** The attempt of that execution whose process is known to have died; null or absent without such evidence. */
  readonly dead?: Entry | null;
  /** Only while the run has that epoch, so that a run that was claimed meanwhile stays with its execution. */
  readonly epoch?: number;
  /** How far the epoch is raised, 1 unless told: further where epochs may have been used that the row knows nothing of. */
  readonly epochs?: number;
}

export type HandOverOutcome =
  | Changed<"handed">
  | { readonly kind: "held"; readonly row: Row; readonly until: number }
  | Changed<"lost">
  | Refused;

/** Schedule 33: over an owner, quiet is raised to its lease, or nobody would know when its request may still land. */
export function handedOver(row: Row, handOver: HandOver): HandOverOutcome {
  const isClaimed = handOver.epoch !== undefined && handOver.epoch !== row.epoch;
  if (hasEnded(row) || row.chain !== handOver.chain || isClaimed) return { kind: "lost", row };
  const lease = row.owner === null ? null : (row.leaseUntil ?? 0);
  if (lease !== null && handOver.now < lease) return { kind: "held", row, until: lease };
  return {
    kind: "handed",
    row: {
      ...row,
      chain: row.chain + 1,
      epoch: row.epoch + (handOver.epochs ?? 1),
      owner: null,
      leaseUntil: null,
      park: null,
      chainClaims: 0,
      quietUntil: Math.max(row.quietUntil, lease ?? 0),
      takeovers: row.takeovers + (row.owner === null ? 0 : 1),
      deaths: deathsAfter(row, handOver.dead ?? null),
    },
  };
}
