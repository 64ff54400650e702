/**
 * Runs work that goes over all runs or objects: one process at a time, in steps, over as many invocations as needed.
 */
import type { Invocation } from "../ports/tasks.ts";
import type { World } from "../ports/world.ts";
import type { MutexLeaseOutcome } from "../protocol/mutex-lease.ts";
import { patient, resolveAmbiguousWrite } from "../history/resolve-ambiguous-write.ts";

export interface Stretch {
  readonly hasTime: () => boolean;
  /** Sets the cursor at which the next invocation continues if this one ends now, for whatever reason. */
  readonly reached: (cursor: string | null) => void;
}

/**
 * Takes the mutex lease `name` and does the work from its cursor on; does nothing while another process holds the lease
 * (schedule 46). `next` does one step from the cursor and returns the cursor of the next step, or null after the last.
 *
 * The cursor is saved even if a step fails or hangs. Otherwise the same step would fail first in every later invocation
 * (schedule 79).
 */
export async function withMutexLease(
  world: World,
  invocation: Invocation,
  of: {
    readonly name: string;
    readonly next: (after: string | null, stretch: Stretch) => Promise<string | null>;
  },
): Promise<void> {
  const { clock, limits } = world;
  const owner = world.random.hex().slice(0, 16);
  const lapsesAt = invocation.deadline + limits.skewMs;
  const take = (until: number, cursor: string | null): Promise<MutexLeaseOutcome> =>
    resolveAmbiguousWrite<MutexLeaseOutcome>(
      () => world.leases.take({ name: of.name, owner, until, cursor, now: clock.now() }),
      () => null,
    );
  const turn = await take(lapsesAt, null);
  if (turn.kind === "held") return;
  let after = turn.cursor;
  const reached = (cursor: string | null): void => {
    after = cursor;
  };
  const hasTime = (): boolean => !invocation.drain.aborted && clock.now() < invocation.deadline - 2 * limits.drainMs;
  // The process may be killed at its deadline while it waits for a response, so save the cursor shortly before that.
  // It keeps the lease until the deadline.
  let saved: Promise<unknown> = Promise.resolve();
  const stop = clock.after(Math.max(0, invocation.deadline - limits.drainMs - clock.now()), () => {
    saved = take(lapsesAt, after).catch(() => undefined);
  });
  try {
    do reached(await of.next(after, { hasTime, reached }));
    while (after !== null && hasTime());
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
}

/** Stores a cursor under the name of a mutex lease that no process holds. */
export async function keepCursor(
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
