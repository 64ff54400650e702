/**
 * What an incarnation leaves behind when its row is gone: objects, inbox, seen and audit items. Whoever removed the row
 * is followed by this task, at least once and perhaps late, so it names the incarnation and never the run alone.
 *
 * Schedule 19: the row expires, the same key starts the run again, then the old clean-up arrives. It deletes below the
 * prefix of its own `born` only, and the new run has another one.
 */
import { RowUnreadable } from "../codec/row.ts";
import type { Incarnation } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { findRow } from "./damage.ts";
import { prefixUnder } from "./object-keys.ts";

/** It starts and wakes no process. */
type Cleaned = Pick<World, "table" | "objects" | "clock" | "telemetry">;

/** Can be repeated, also after a crash in the middle. A row that is there is never left without its objects. */
export async function cleanUp(world: Cleaned, { run, born }: Incarnation): Promise<void> {
  if (await isStored(world, { run, born })) {
    const why = `nothing was deleted: the row of ${run} is still there, so the event that it was removed is wrong`;
    world.telemetry.record({ at: world.clock.now(), run, level: "alarm", what: "NotRemoved", detail: { why, born } });
    return;
  }
  await world.objects.removeUnder(prefixUnder({ run, born }));
  await world.table.forget({ run, born });
}

/**
 * Whether the table holds a row of that very incarnation, expired or not: at 0 nothing has expired. A damaged row may be the
 * one, and what belongs to it is what mends it.
 */
export async function isStored(world: Pick<World, "table">, { run, born }: Incarnation): Promise<boolean> {
  const found = await findRow(world, run, 0);
  return found instanceof RowUnreadable || found?.born === born;
}
