/** What a run that has ended did outside, for its report to its parent. */
import { RowUnreadable } from "../../codec/row.ts";
import type { Child } from "../../core/child.ts";
import { joinedWork, ownWork, unheardWork } from "../../core/calls/outside.ts";
import type { OutsideWork } from "../../core/outside.ts";
import type { State } from "../../core/state.ts";
import { hasEnded } from "../../protocol/row.ts";
import type { World } from "../../ports/world.ts";
import { findRow } from "../../history/damage.ts";
import { SegmentCache } from "../../history/load.ts";
import { loadVouched } from "../../history/vouch.ts";

/**
 * Absent: it released nothing but calls of class `none`. A forced end leaves children behind that report to no run, so
 * their own states are read. Each of them has ended by now (schedule 133).
 */
export async function reportedWork(world: World, state: State): Promise<OutsideWork | undefined> {
  let work = ownWork(state);
  for (const child of state.children) work = joinedWork(work, await workOfLeftBehind(world, child));
  return work;
}

async function workOfLeftBehind(world: World, child: Child): Promise<OutsideWork | undefined> {
  const row = await findRow(world, child.id, world.clock.now());
  // The end of its parent is a fence: without a row it was never made, or it is gone.
  if (row === null && child.made !== true) return undefined;
  if (row === null || row instanceof RowUnreadable || !hasEnded(row)) return unheardWork(child);
  const { state } = await loadVouched(world, row, new SegmentCache());
  return reportedWork(world, state);
}
