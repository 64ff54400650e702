/** An operator says that the external services were checked for what a restored run did in the lost time. */
import type { World } from "../ports/world.ts";
import { openMark } from "../protocol/restored.ts";
import { type RestoredCheckOutcome, RESTORED_CHECK } from "../protocol/row-restored.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import { RowNewer, RowUnreadable } from "../codec/row.ts";
import { startExecution, wakeRun } from "../engine/context/executions.ts";
import { senderOf } from "../engine/context/inbox.ts";
import { findRow } from "../history/damage.ts";
import { resolveAmbiguousWrite } from "../history/resolve-ambiguous-write.ts";

/** The outcome of an operator's word about one run. `same`: it bears no mark, or it was said before. */
export type CheckedRun =
  | { readonly kind: "checked"; readonly row: Row }
  | { readonly kind: "same" | "missing" | "unreadable" };

/**
 * An operator says that the external services were checked for what this run did in the lost time. It asks no more then. A
 * run that waited for the word goes on; one that the restore paused stays paused. Throws `RowNewer`.
 */
export async function checkRun(
  world: World,
  request: { readonly run: string; readonly by: string },
): Promise<CheckedRun> {
  const row = await findRow(world, request.run, world.clock.now());
  if (row === null) return { kind: "missing" };
  if (row instanceof RowNewer) throw row;
  if (row instanceof RowUnreadable) return { kind: "unreadable" };
  const mark = openMark(row);
  if (mark === null) return { kind: "same" };
  const { run, born } = row;
  const check = { run, born, restoredAt: mark.at, by: senderOf(request.by) };
  const outcome = await resolveAmbiguousWrite<RestoredCheckOutcome>(
    () => world.table.decide({ ...check, now: world.clock.now() }, RESTORED_CHECK),
    ({ restored }) => (restored?.at === mark.at && restored.checked?.by === check.by ? { kind: "same", row } : null),
  );
  if (outcome.kind === "newer") throw new RowNewer(run, outcome);
  if (outcome.kind === "missing" || outcome.kind === "unreadable") return { kind: outcome.kind };
  // A run that waited was never started; any other one is woken, and decides anew.
  if (mark.waits === true && !hasEnded(row)) await startExecution(world, outcome.row);
  else if (!hasEnded(row)) await wakeRun(world, outcome.row);
  return { kind: "checked", row: outcome.row };
}
