/**
 * Runs work that goes over all runs or objects: one process at a time, in steps, over as many invocations as needed.
 */
import type { Invocation } from "../ports/tasks.ts";
import type { World } from "../ports/world.ts";
import type { MutexLease, MutexLeaseOutcome } from "../protocol/mutex-lease.ts";
import { patient, resolveAmbiguousWrite, storeCursor } from "./resolve-ambiguous-write.ts";

export interface Stretch {
  readonly hasTime: () => boolean;
  /** Sets the cursor at which the next invocation continues if this one ends now, for whatever reason. */
  readonly reached: (cursor: string | null) => void;
}

/**
 * Takes the mutex lease `name` and does the work from its cursor on; does nothing while another process holds the lease
 * (schedule 46). `next` does one step from the cursor and returns the cursor of the next step, or null after the last.
 */
export async function withMutexLease(
  world: World,
  invocation: Invocation,
  work: {
    readonly name: string;
    readonly next: (after: string | null, stretch: Stretch) => Promise<string | null>;
  },
): Promise<void> {
  await underMutexLease(world, invocation, {
    name: work.name,
    work: async (cursor, stretch) => {
      let after = cursor;
      do {
        after = await work.next(after, stretch);
        stretch.reached(after);
      } while (after !== null && stretch.hasTime());
    },
  });
}

/**
 * Takes the mutex lease `name` and does the work, which gets its cursor. Returns false, and does nothing, while another
 * process holds the lease.
 *
 * The cursor is saved even if the work fails or hangs. Otherwise the same step would fail first in every later invocation
 * (schedule 79).
 */
export async function underMutexLease(
  world: World,
  invocation: Invocation,
  held: {
    readonly name: string;
    /** The stored cursor stays while the work is under way. Without it, a process that is killed early leaves none. */
    readonly keepsCursor?: true;
    readonly work: (cursor: string | null, stretch: Stretch) => Promise<void>;
  },
): Promise<boolean> {
  const { clock, limits } = world;
  const owner = world.random.hex().slice(0, 16);
  const lapsesAt = invocation.deadline + limits.skewMs;
  const takeWith = (lease: Pick<MutexLease, "until" | "cursor">): Promise<MutexLeaseOutcome> =>
    resolveAmbiguousWrite<MutexLeaseOutcome>(
      () => world.leases.take({ name: held.name, owner, now: clock.now(), ...lease }),
      () => null,
    );
  const take = (until: number, cursor: string | null): Promise<MutexLeaseOutcome> => takeWith({ until, cursor });
  const turn = await (held.keepsCursor === true ? takeWith({ until: lapsesAt }) : take(lapsesAt, null));
  if (turn.kind === "held") return false;
  let after = turn.cursor;
  const reached = (cursor: string | null): void => {
    after = cursor;
  };
  // The process may be killed at its deadline while it waits for a response, so save the cursor shortly before that.
  // It keeps the lease until the deadline.
  let saved: Promise<unknown> = Promise.resolve();
  const stop = clock.after(Math.max(0, invocation.deadline - limits.drainMs - clock.now()), () => {
    saved = take(lapsesAt, after).catch(() => undefined);
  });
  try {
    await held.work(after, { hasTime: () => isTimeLeft(world, invocation), reached });
  } catch (error) {
    stop();
    await saved;
    // If the release of the lease fails too, the lease expires. The first error is the one to report.
    await take(clock.now(), after).catch(() => undefined);
    throw error;
  }
  stop();
  await saved;
  await take(clock.now(), after);
  return true;
}

/** True if another step may begin in this invocation. */
export const isTimeLeft = ({ clock, limits }: World, { drain, deadline }: Invocation): boolean =>
  !drain.aborted && clock.now() < deadline - 2 * limits.drainMs;

/** Stores a cursor under the name of a mutex lease, and waits for a busy store as long as the invocation may. */
export async function keepCursor(
  world: World,
  invocation: Invocation,
  stored: { readonly name: string; readonly cursor: string },
): Promise<void> {
  const { clock, random, limits } = world;
  await storeCursor(world, stored, patient({ clock, random, until: invocation.deadline - limits.drainMs }));
}
