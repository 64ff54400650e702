/**
 * What the store remembers of its last restore: the cursor of a mutex lease, as a register (`schedule-memory.ts`). It
 * speaks for what no row says: runs that had ended before, and starts that the restored store does not know.
 */
import * as z from "zod";
import {
  type RestoreTimes,
  type RestoredMark,
  type RestoredStore,
  inheritedMark,
  markForNew,
} from "../protocol/restored.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { storeCursor } from "../history/resolve-ambiguous-write.ts";

const NAME = "restored store";

export const restoredStore: z.ZodType<RestoredStore> = z.object({
  at: z.number(),
  asOf: z.number(),
  checked: z.object({ by: z.string(), at: z.number() }).exactOptional(),
});

/** Null: the store was never restored. */
export async function restoredStoreOf({ leases }: Pick<World, "leases">): Promise<RestoredStore | null> {
  const cursor = await leases.cursorOf(NAME);
  return cursor === null ? null : restoredStore.parse(JSON.parse(cursor));
}

export async function rememberRestored(world: World, restored: RestoredStore): Promise<void> {
  await storeCursor(world, { name: NAME, cursor: JSON.stringify(restored) });
}

/**
 * The mark of a run that is about to start under a key. Its start may have happened in the lost time: the caller repeats a
 * request whose answer it has lost, or a schedule makes up for a firing. `due`: when that firing was due; absent for a
 * request, which may be as old as the lost time.
 */
export async function markOfStart(
  world: Pick<World, "leases">,
  start: { readonly isKeyed: boolean; readonly due?: number | undefined },
): Promise<RestoredMark | undefined> {
  const store = start.isKeyed ? await restoredStoreOf(world) : null;
  if (store === null || store.checked !== undefined) return undefined;
  return start.due !== undefined && start.due > store.at ? undefined : markForNew(store, true);
}

/** What a run passes on to a fork of it, or to itself when it is redriven; null: nothing. */
export const passedOn = async (world: Pick<World, "leases">, row: Row): Promise<RestoreTimes | null> =>
  inheritedMark(row, await restoredStoreOf(world));
