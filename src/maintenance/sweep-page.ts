/**
 * Judges the runs of one page of a sweep, several at once, since a judgement mostly waits for a store. A run that
 * cannot be judged becomes an alarm and does not stop the others (schedule 79).
 *
 * Schedule 150: the sweep is killed at its deadline while it judges several runs. If its cursor stood behind the
 * youngest of them, the next sweep would pass over the others. So the cursor stands behind the oldest one. That run
 * alone is passed over: one that hangs each time must not hold the cursor.
 */
import { sentenceOf } from "../codec/value.ts";
import type { ListedRow } from "../protocol/row.ts";
import { StoreUnreachable, type World } from "../ports/world.ts";
import { alarm } from "../history/alarm.ts";
import { performInLanes } from "./lanes.ts";
import type { Stretch } from "../history/mutex-lease.ts";

/** Runs that a sweep judges at once. */
export const SWEEP_LANES = 16;
/** After this many consecutive runs for which a store did not answer, the sweep treats the store as unavailable. */
const UNANSWERED_MAX = 5;

interface SweepPage extends Stretch {
  readonly rows: readonly ListedRow[];
  /** The cursor behind each row. */
  readonly behind: readonly string[];
  readonly judge: (row: ListedRow) => Promise<void>;
}

/** Judges pages; the runs for which a store did not answer are counted across them. */
export function pageJudge(world: World): (page: SweepPage) => Promise<number> {
  let unanswered = 0;
  /**
   * Returns how many runs were judged: fewer than the page has if the time is up.
   *
   * @throws StoreUnreachable if a store is unavailable for all runs; those that were begun have been judged then
   */
  return async ({ rows, behind, judge, hasTime, reached }) => {
    const away: StoreUnreachable[] = [];
    const begun = await performInLanes({
      lanes: SWEEP_LANES,
      items: rows,
      mayBegin: (index) => away.length === 0 && (index === 0 || hasTime()),
      perform: (row) => guarded(world, row, judge),
      finished: (lost) => {
        unanswered = lost === null ? 0 : unanswered + 1;
        if (lost !== null && unanswered >= UNANSWERED_MAX) away.push(lost);
      },
      oldest: (index) => reached(behind[index] ?? null),
    });
    if (begun > 0) reached(behind[begun - 1] ?? null);
    if (away[0] !== undefined) throw away[0];
    return begun;
  };
}

/** Judges one run; a failure becomes an alarm. Returns the error if a store did not answer, otherwise null. */
async function guarded(
  world: World,
  row: ListedRow,
  judge: (row: ListedRow) => Promise<void>,
): Promise<StoreUnreachable | null> {
  try {
    await judge(row);
    return null;
  } catch (error) {
    alarm(world, row.run, { what: "SweepFailed", why: sentenceOf(error) });
    return error instanceof StoreUnreachable ? error : null;
  }
}
