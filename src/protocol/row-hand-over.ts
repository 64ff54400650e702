/**
 * Hand-overs: a run moves to the next execution of its chain. Its own last beat, Rescue or the sweeper does this.
 * Rescue and the sweeper hold no lease, so the row keeps until when a lost owner's effects may still land, for the next
 * claim.
 */
import type { Entry } from "./entry.ts";
import { type Changed, type RunRef, type Refused, type Row, hasEnded } from "./row.ts";
import { type RestoreTimes, RESTORED_EPOCHS, markRestored } from "./restored.ts";
import { deathsAfter } from "./row-claim.ts";
import type { RowDecision } from "./row-decision.ts";

/** A request to move a run to its next execution. */
export interface HandOver extends RunRef {
  /** The execution that is over. */
  readonly chain: number;
  /** The attempt of that execution whose process is known to have died; null or absent without such evidence. */
  readonly dead?: Entry | null;
  /** Hand over only in this epoch, so that a run that was claimed meanwhile stays with its execution. */
  readonly epoch?: number;
  /**
   * The store was restored. The epoch rises past every epoch that the row does not know, the run is paused, and its row
   * says from when its state is. It is no takeover.
   */
  readonly restored?: RestoreTimes;
}

/**
 * `held`: the owner's lease lasts `until` then. `lost`: the run has ended, or belongs to another execution or epoch.
 */
export type HandOverOutcome =
  | Changed<"handed">
  | { readonly kind: "held"; readonly row: Row; readonly until: number }
  | Changed<"lost">
  | Refused;

/**
 * Decides a hand-over.
 *
 * Schedule 33: a hand-over removes an owner that may still act. It raises `effectsSettleAt` to that owner's lease, or the
 * next claim would not know until when the owner's requests may still land.
 */
export function decideHandOver(row: Row, handOver: HandOver): HandOverOutcome {
  const isClaimed = handOver.epoch !== undefined && handOver.epoch !== row.epoch;
  if (hasEnded(row) || row.chain !== handOver.chain || isClaimed) return { kind: "lost", row };
  const lease = row.owner === null ? null : (row.leaseUntil ?? 0);
  if (lease !== null && handOver.now < lease) return { kind: "held", row, until: lease };
  const { restored } = handOver;
  return {
    kind: "handed",
    row: {
      ...row,
      ...(restored === undefined ? {} : pausedBy(row, { restored, now: handOver.now })),
      chain: row.chain + 1,
      epoch: row.epoch + (restored === undefined ? 1 : RESTORED_EPOCHS),
      owner: null,
      leaseUntil: null,
      park: null,
      chainClaims: 0,
      claimedAt: handOver.now,
      effectsSettleAt: Math.max(row.effectsSettleAt, lease ?? 0),
      takeovers: row.takeovers + (row.owner === null || restored !== undefined ? 0 : 1),
      deaths: deathsAfter(row, handOver.dead ?? null),
    },
  };
}

export const HAND_OVER: RowDecision<HandOver, HandOverOutcome> = {
  name: "handOver",
  decision: decideHandOver,
  // A restore pauses the run, also over a resume of the same moment: the operator decides after it.
  replaces: ({ restored }) => (restored === undefined ? [] : ["pause"]),
};

/** Until a beat records the pause, the row alone says it: no supervisor may run yet. */
function pausedBy(
  row: Row,
  { restored, now }: { readonly restored: RestoreTimes; readonly now: number },
): Partial<Row> {
  return {
    restored: markRestored(row, restored),
    pause: true,
    status: "paused",
    statusSince: row.status === "paused" ? row.statusSince : now,
  };
}
