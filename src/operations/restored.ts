/**
 * Fences all live runs after a store was restored from a backup, since its rows are older than their runs. It fences,
 * marks and pauses each run that has not ended, so that an operator decides which of them go on.
 *
 * Schedule 109: a restored row has epoch 3, and epochs 4 to 9 were used before the restore. The next claim would use
 * epoch 4 again. A process that froze under the first epoch 4 thaws and commits as if it held the run. The snapshot of
 * the second process meets the object of the first. So each row gets an epoch that no invocation can have had.
 *
 * The row does not know what the run did after the backup, so the run would do it again. The mark makes it ask first
 * (`engine/tools/lost-time.ts`), until an operator says that the external services were checked. The store is marked
 * before its rows: a process that dies in between leaves no start that would not wait.
 */
import type { Damaged } from "../ports/run-table.ts";
import type { World } from "../ports/world.ts";
import { type RestoredStore, openMark } from "../protocol/restored.ts";
import { type ListedRow, hasEnded } from "../protocol/row.ts";
import { handOver } from "../engine/context/executions.ts";
import { senderOf } from "../engine/context/inbox.ts";
import { checkRun } from "./checked.ts";
import { rememberRestored, restoredStoreOf } from "./restored-store.ts";

/** The outcome for every live run. */
export interface Restored {
  /** The newest moment that the store knows: what happened after it is lost. Epoch milliseconds. */
  readonly asOf: number;
  /** The runs that are now fenced, marked and paused. */
  readonly runs: readonly string[];
  /** An invocation may hold these runs until `until` (epoch milliseconds). Fence again after that. */
  readonly held: readonly { readonly run: string; readonly until: number }[];
  readonly damaged: readonly Damaged[];
}

const PAGE = 100;

/** Fences, marks and pauses every run that has not ended. It can be repeated. */
export async function fenceRestored(world: World): Promise<Restored> {
  const { rows, damaged } = await aliveRows(world);
  const live = rows.filter((row) => !hasEnded(row));
  const before = await restoredStoreOf(world);
  const at = world.clock.now();
  const newest = Math.max(0, ...rows.map(newestIn));
  const isOpen = before !== null && before.checked === undefined;
  // An earlier lost time that no operator has checked stays unchecked. A store without runs knows no moment.
  const asOf = Math.min(rows.length === 0 ? at : newest, ...(isOpen ? [before.asOf] : []));
  await rememberRestored(world, { at, asOf });
  const found = { runs: [] as string[], held: [] as { run: string; until: number }[] };
  for (const { run, born, chain } of live) {
    const outcome = await handOver(world, { run, born, chain, restored: { at, asOf } });
    if (outcome.kind === "held") found.held.push({ run, until: outcome.until });
    if (outcome.kind === "handed") found.runs.push(run);
  }
  return { asOf, ...found, damaged };
}

/** All pages are read before the first write, since a paused run may move between pages. */
async function aliveRows(world: World): Promise<{ rows: readonly ListedRow[]; damaged: readonly Damaged[] }> {
  const rows: ListedRow[] = [];
  const damaged: Damaged[] = [];
  let after: string | null = null;
  do {
    const page = await world.table.alive({ limit: PAGE, after, now: world.clock.now() });
    rows.push(...page.rows);
    damaged.push(...page.damaged);
    after = page.next;
  } while (after !== null);
  return { rows, damaged };
}

const newestIn = ({ createdAt, statusSince, lastCheckpointAt, claimedAt = 0 }: ListedRow): number =>
  Math.max(createdAt, statusSince, lastCheckpointAt, claimedAt);

/** `runs`: their word was open. `since`: when the store was restored; null: never, or the word was said before. */
export interface CheckedStore {
  readonly kind: "checked" | "partly" | "notConfirmed";
  readonly store: RestoredStore | null;
  readonly runs: readonly string[];
  readonly damaged: readonly Damaged[];
}

/**
 * The same for the whole store: all its runs, also those that had ended, and starts that fall into the lost time. Without
 * `confirmed` it only names them. The runs come first: a process that dies in between is repeated, and ends the same.
 */
export async function checkStore(
  world: World,
  { confirmed, by }: { readonly by: string; readonly confirmed: boolean },
): Promise<CheckedStore> {
  const store = await restoredStoreOf(world);
  const { rows, damaged } = await aliveRows(world);
  const runs = rows.filter((row) => openMark(row) !== null).map(({ run }) => run);
  const open = store?.checked === undefined ? store : null;
  if (!confirmed) return { kind: "notConfirmed", store: open, runs, damaged };
  for (const run of runs) await checkRun(world, { run, by });
  if (open !== null) await rememberRestored(world, { ...open, checked: { by: senderOf(by), at: world.clock.now() } });
  return { kind: damaged.length === 0 ? "checked" : "partly", store: open, runs, damaged };
}
