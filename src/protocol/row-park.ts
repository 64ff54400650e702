/** How a waiting execution leaves the token that wakes it in its run's row. */
import { type Entry, sameEntry } from "./entry.ts";
import { type Changed, type RunRef, type Refused, type Row, hasEnded } from "./row.ts";

export interface Park extends RunRef {
  readonly chain: number;
  /** The epoch that the previous beat left. */
  readonly epoch: number;
  readonly entry: Entry;
  readonly token: string;
}

/** `stirred`: the wake-up counter has risen. `superseded`: another attempt or execution drives the run. */
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
