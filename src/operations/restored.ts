/**
 * After a store was restored from a backup: its rows are older than what became of their runs. Each run that has not ended is
 * fenced and paused, so that an operator decides what of it is to go on.
 *
 * Schedule 109: a row comes back under epoch 3, and epochs 4 to 9 were used before the restore. The next claim would be
 * under epoch 4 again: a process that froze under the first epoch 4 thaws and commits as if it held the run, and the
 * snapshot of the second one meets the object of the first. So each row gets an epoch that no invocation can have had.
 *
 * What the run did after the backup is not in its row, so it would do it again: its keyed calls with the same keys, which
 * their services know, and its other calls a second time.
 */
import type { Damaged } from "../ports/run-table.ts";
import type { World } from "../ports/world.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import { handOver } from "../engine/loop/executions.ts";
import { request } from "../engine/loop/request.ts";

export interface Restored {
  /** Fenced and paused. */
  readonly runs: readonly string[];
  /** An invocation may hold them until then, epoch milliseconds: fence again after that. */
  readonly held: readonly { readonly run: string; readonly until: number }[];
  readonly damaged: readonly Damaged[];
}

/** More than a run can have used since any backup: each claim takes one. */
const RESTORED_EPOCHS = 1_000_000;
const PAGE = 100;

export async function fenceRestored(world: World): Promise<Restored> {
  const found = { runs: [] as string[], held: [] as { run: string; until: number }[], damaged: [] as Damaged[] };
  // Read whole before the first write: a paused run may move within the pages.
  const rows: Row[] = [];
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
    await request(world, { run, want: "pause" });
    found.runs.push(run);
  }
  return found;
}
