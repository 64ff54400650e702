/**
 * How a run that waits leaves in its row what wakes it: the token of its execution, or a note that this execution has
 * ended. Then a wake-up hands the run over and starts the next execution, so a run that waits for long holds none open.
 */
import { type Limits, TIMES } from "./limits.ts";
import { type Entry, sameEntry } from "./entry.ts";
import type { RowDecision } from "./row-decision.ts";
import { type Changed, type ListedRow, type RunRef, type Refused, type Row, hasEnded } from "./row.ts";

export interface Park extends RunRef {
  readonly chain: number;
  /** The epoch that the previous beat left. */
  readonly epoch: number;
  readonly entry: Entry;
  readonly token: string;
}

/** The token of a run whose execution has ended. No service gives such a token, so older code wakes nothing with it. */
export const NO_EXECUTION = "ended";

/** Whether the run waits without an execution. */
export const isAsleep = ({ park }: Pick<Row, "park">): boolean => park?.token === NO_EXECUTION;

/**
 * Whether the run moved to its next execution, and no process has claimed it there yet. That execution may have to be
 * started.
 */
export const isUnbegun = (row: ListedRow): boolean =>
  row.chain > 1 && row.chainClaims === 0 && row.owner === null && row.park === null && !hasEnded(row);

/**
 * How long before the end of its wait a sweep starts the next execution of a run. Half the time for which a park stays
 * open: what is left of the wait is then an open park, which ends on time.
 */
export const wakeAheadMs = ({ openParkMs }: Pick<Limits, "openParkMs">): number =>
  openParkMs > TIMES.parkSecondsMax * 1_000 ? 0 : Math.floor(openParkMs / 2);

/**
 * From when on a sweep wakes a parked run that no message has reached.
 *
 * Schedule 178: a beat before the deadline of a wait moves that deadline. So a run that waits until its deadline is never
 * woken ahead, or it would never expire.
 */
export const wakeFrom = (row: ListedRow, limits: Pick<Limits, "openParkMs">): number => {
  if (row.wakeAt === null) return Infinity;
  return isAsleep(row) && row.wakeAt < row.deadline ? row.wakeAt - wakeAheadMs(limits) : row.wakeAt;
};

/** `woken`: the wake-up counter has risen. `superseded`: another attempt or execution drives the run. */
export type ParkOutcome = Changed<"parked"> | Changed<"woken"> | Changed<"superseded"> | Refused;

/**
 * Schedule 15: attempt 1 stores its token, then a frozen attempt 0 thaws with a token that wakes no execution any more.
 * It is refused, since its retry is not above the stored one.
 */
export function decidePark(row: Row, park: Park): ParkOutcome {
  const free = row.chain === park.chain && row.epoch === park.epoch && row.owner === null && !hasEnded(row);
  const newer = row.park === null || !sameEntry(row.park.entry, park.entry) || row.park.entry.retry < park.entry.retry;
  if (!free || !newer) return { kind: "superseded", row };
  if (row.wakeCount !== row.wakeCountSeen) return { kind: "woken", row };
  return { kind: "parked", row: { ...row, park: { token: park.token, entry: park.entry } } };
}

export const PARK: RowDecision<Park, ParkOutcome> = {
  name: "park",
  decision: decidePark,
  reads: () => ["wakeCount"],
};
