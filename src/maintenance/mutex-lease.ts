/** What one process at a time does over all runs or objects, stretch by stretch, in as many invocations as it takes. */
import type { Invocation } from "../ports/tasks.ts";
import type { World } from "../ports/world.ts";
import type { TurnOutcome } from "../protocol/mutex-lease.ts";
import { certainly } from "../history/resolve-ambiguous-write.ts";

interface Stretch {
  readonly hasTime: () => boolean;
  /** From where the next turn goes on if this stretch ends now, whatever ends it. */
  readonly reached: (cursor: string | null) => void;
}

/**
 * Does nothing while it is somebody else's turn (schedule 46). Goes on where the last turn ended: `next` does one stretch
 * from there, and returns from where the following one goes on, or null after the last.
 *
 * Where the next turn goes on is saved in every case: what failed or hung in this turn must not be what each turn meets
 * first (schedule 79).
 */
export async function inTurn(
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
  const take = (until: number, cursor: string | null): Promise<TurnOutcome> =>
    certainly<TurnOutcome>(
      () => world.table.takeTurn({ name: of.name, owner, until, cursor, now: clock.now() }),
      () => null,
    );
  const turn = await take(lapsesAt, null);
  if (turn.kind === "held") return;
  let after = turn.cursor;
  const reached = (cursor: string | null): void => {
    after = cursor;
  };
  const hasTime = (): boolean => !invocation.drain.aborted && clock.now() < invocation.deadline - 2 * limits.drainMs;
  // The process is killed at its deadline, perhaps while it waits for one answer. Until then it keeps the turn.
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
    // That the turn could not be given up either says nothing new: it lapses.
    await take(clock.now(), after).catch(() => undefined);
    throw error;
  }
  stop();
  await saved;
  await take(clock.now(), after);
}
