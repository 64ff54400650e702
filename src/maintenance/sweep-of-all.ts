/** What a sweep remembers once it has judged every live run: the deployment for which, and when. */
import type { MutexLeaseOutcome } from "../protocol/mutex-lease.ts";
import type { Invocation } from "../ports/tasks.ts";
import type { World } from "../ports/world.ts";
import { resolveAmbiguousWrite, patient } from "../history/resolve-ambiguous-write.ts";

/** The cursor of this mutex lease names the deployment. */
export const DEPLOYMENT = "deployment";
/** The cursor of this mutex lease says when; epoch milliseconds. */
export const ALL = "sweep of all";
/** A sweep of all live runs begins this long after the last one: once an hour, where a sweep begins each five minutes. */
const ALL_MS = 50 * 60_000;

/** Whether a sweep has judged every live run within the hour. */
export const sweptAll = async (world: World): Promise<boolean> =>
  world.clock.now() - Number((await world.leases.cursorOf(ALL)) ?? -ALL_MS) < ALL_MS;

export async function rememberSweep(
  world: World,
  invocation: Invocation,
  of: { readonly name: string; readonly cursor: string },
): Promise<void> {
  const { clock, random } = world;
  const now = clock.now();
  const turn = { ...of, owner: random.hex().slice(0, 16), until: now, now };
  await resolveAmbiguousWrite<MutexLeaseOutcome>(
    () => world.leases.take(turn),
    () => null,
    patient({ clock, random, until: invocation.deadline - world.limits.drainMs }),
  );
}
