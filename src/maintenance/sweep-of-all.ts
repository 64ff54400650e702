/** What a sweep remembers once it has judged every live run: the deployment for which, and when. */
import type { World } from "../ports/world.ts";
import { LAST_SWEEP_OF_ALL } from "../protocol/mutex-lease.ts";

/** The cursor of this mutex lease names the deployment. */
export const DEPLOYMENT = "deployment";
/** A sweep of all live runs begins this long after the last one: once an hour, where a sweep begins each five minutes. */
const ALL_MS = 50 * 60_000;

/** Whether a sweep has judged every live run within the hour. */
export const sweptAll = async (world: World): Promise<boolean> =>
  world.clock.now() - Number((await world.leases.cursorOf(LAST_SWEEP_OF_ALL)) ?? -ALL_MS) < ALL_MS;
