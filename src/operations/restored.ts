/**
 * Fences all live runs after a store was restored from a backup, since its rows are older than their runs. It fences
 * and pauses each run that has not ended, so that an operator decides which of them go on.
 *
 * Schedule 109: a restored row has epoch 3, and epochs 4 to 9 were used before the restore. The next claim would use
 * epoch 4 again. A process that froze under the first epoch 4 thaws and commits as if it held the run. The snapshot of
 * the second process meets the object of the first. So each row gets an epoch that no invocation can have had.
 *
 * The row does not know what the run did after the backup, so the run would do it again. Keyed calls repeat with the
 * same keys, which their services deduplicate. All other calls happen a second time.
 */
import type { Damaged } from "../ports/run-table.ts";
import type { World } from "../ports/world.ts";
import { type ListedRow, hasEnded } from "../protocol/row.ts";
import { handOver } from "../engine/context/executions.ts";
import { sendRequest } from "../engine/loop/request.ts";

/** The outcome for every live run. */
export interface Restored {
  /** The runs that are now fenced and paused. */
  readonly runs: readonly string[];
  /** An invocation may hold these runs until `until` (epoch milliseconds). Fence again after that. */
  readonly held: readonly { readonly run: string; readonly until: number }[];
  readonly damaged: readonly Damaged[];
}

/** More epochs than a run can have used since any backup: each claim uses one. */
const RESTORED_EPOCHS = 1_000_000;
const PAGE = 100;

/** Fences and pauses every run that has not ended. It can be repeated. */
export async function fenceRestored(world: World): Promise<Restored> {
  const found = { runs: [] as string[], held: [] as { run: string; until: number }[], damaged: [] as Damaged[] };
  // All pages are read before the first write, since a paused run may move between pages.
  const rows: ListedRow[] = [];
  let after: string | null = null;
  do {
    const page = await world.table.alive({ limit: PAGE, after, now: world.clock.now() });
    rows.push(...page.rows.filter((row) => !hasEnded(row)));
    found.damaged.push(...page.damaged);
    after = page.next;
  } while (after !== null);
  for (const { run, born, chain } of rows) {
    const outcome = await handOver(world, { run, born, chain, epochs: RESTORED_EPOCHS });
    if (outcome.kind === "held") found.held.push({ run, until: outcome.until });
    if (outcome.kind !== "handed" && outcome.kind !== "lost") continue;
    await sendRequest(world, { run, want: "pause" });
    found.runs.push(run);
  }
  return found;
}
