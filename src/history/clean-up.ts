/**
 * Clean-up: deletes what an incarnation leaves behind after its row is removed: objects, inbox, seen and
 * audit items, and deltas.
 * Each removal of a row triggers it at least once and perhaps late, so it names the incarnation and never only the run.
 *
 * Schedule 19: the row expires, the same key starts the run again, then the old clean-up arrives. It deletes only below
 * the prefix of its own `born`, and the new run has another prefix.
 */
import { RowUnreadable } from "../codec/row.ts";
import type { Incarnation } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { findRow } from "./damage.ts";
import { prefixUnder } from "./object-keys.ts";

/** The clean-up starts and wakes no process. */
type Cleaned = Pick<World, "table" | "inbox" | "objects" | "deltas" | "clock" | "telemetry">;

/** Idempotent, also after a crash in the middle. It never deletes the objects of a row that still exists. */
export async function cleanUp(world: Cleaned, { run, born }: Incarnation): Promise<void> {
  if (await isStored(world, { run, born })) {
    const why = `nothing was deleted: the row of ${run} is still there, so the event that it was removed is wrong`;
    world.telemetry.record({ at: world.clock.now(), run, level: "alarm", what: "NotRemoved", detail: { why, born } });
    return;
  }
  await world.objects.removeUnder(prefixUnder({ run, born }));
  await world.inbox.forget({ run, born });
  await world.deltas.forget({ run, born });
}

/**
 * Whether the table holds a row of this incarnation, expired or not (at time 0 nothing has expired). A damaged row
 * counts, since it may belong to this incarnation, and its objects are needed to repair it.
 */
export async function isStored(world: Pick<World, "table">, { run, born }: Incarnation): Promise<boolean> {
  const found = await findRow(world, run, 0);
  return found instanceof RowUnreadable || found?.born === born;
}
