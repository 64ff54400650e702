/**
 * The mark of a run whose store was restored from a backup. The row is older than what the run did, so each act that it
 * would begin may have happened. The mark stays until an operator says that the external services were checked.
 *
 * It is in the row and not in the state: a restore writes rows alone, and every invocation reads its row.
 */
/** Times are epoch milliseconds. */
export interface RestoreTimes {
  /** When the store was restored. It names the restore. */
  readonly at: number;
  /** From when the restored state is: what the run did between then and `at` is lost. */
  readonly asOf: number;
}

/** Who said that the external services were checked, and when. */
export interface Checked {
  readonly by: string;
  readonly at: number;
}

/** What the store itself keeps of its last restore. */
export interface RestoredStore extends RestoreTimes {
  readonly checked?: Checked;
}

export interface RestoredMark extends RestoredStore {
  /** The version and epoch that the restore gave the row. Objects of later versions and lower epochs are lost history. */
  readonly version: number;
  readonly epoch: number;
  /** The run was made by a firing or a keyed start that may have happened in the lost time. It waits for the word. */
  readonly waits?: true;
}

/** A row, as far as its mark depends on it. */
interface Marked {
  readonly restored?: RestoredMark;
}

/** More epochs than a run can have used since any backup: each claim uses one. */
export const RESTORED_EPOCHS = 1_000_000;

/** The mark that still counts; null: none was set, or an operator said that the services were checked. */
export const openMark = ({ restored }: Marked): RestoredMark | null =>
  restored === undefined || restored.checked !== undefined ? null : restored;

/** The mark that a run without history of its own gets: a child, a fork, or a start that falls into the lost time. */
export const markForNew = ({ at, asOf }: RestoreTimes, waits = false): RestoredMark => ({
  at,
  asOf,
  version: 0,
  epoch: 0,
  ...(waits && { waits: true }),
});

/**
 * The mark of a row that a restore fences. A lost time that no operator has checked before is still unchecked, so the
 * earlier of the two moments counts.
 */
export function markRestored(
  row: Marked & { readonly version: number; readonly epoch: number },
  { at, asOf }: RestoreTimes,
): RestoredMark {
  const before = openMark(row);
  return {
    at,
    asOf: before === null ? asOf : Math.min(asOf, before.asOf),
    version: row.version,
    epoch: row.epoch + RESTORED_EPOCHS,
    ...(before?.waits && { waits: true }),
  };
}

/**
 * The mark that a run passes on when it goes on after its end, or when another run begins with its state; null: none. A
 * restore writes no row of a run that had ended, so for such a run the store says it.
 */
export function inheritedMark(
  row: Marked & { readonly createdAt: number },
  store: RestoredStore | null,
): RestoreTimes | null {
  const { restored: own } = row;
  const isOfStore = store !== null && row.createdAt <= store.at && (own === undefined || own.at < store.at);
  if (isOfStore) return store.checked === undefined ? store : null;
  if (own === undefined || own.checked !== undefined) return null;
  return store !== null && store.at >= own.at && store.checked !== undefined ? null : own;
}
