/**
 * The clock of the machine that runs an invocation, checked against AWS's own: each AWS response carries a date. Clocks
 * of two machines differ by less than the lease margin, or one of them is wrong. AWS's clock decides which rows
 * DynamoDB deletes, so it counts here.
 */
import { CLOCK } from "../../protocol/steadiness.ts";
import { afterReading } from "../../ports/late-timers.ts";
import type { Clock } from "../../ports/world.ts";
import { type DatedClient, tellDates } from "./dates.ts";

export const systemClock: Clock = {
  now: () => Date.now(),
  earliest: () => Date.now(),
  after: afterReading({
    start: (delayMs, call) => {
      const timer = setTimeout(call, delayMs);
      return () => clearTimeout(timer);
    },
    poll: (call) => {
      const turn = setImmediate(call);
      return () => clearImmediate(turn);
    },
    count: () => performance.now(),
  }),
};

/** What a response showed: AWS's time, with this machine's wall clock and its uptime count at that moment. */
interface Told {
  readonly date: number;
  readonly wall: number;
  readonly counted: number;
}

/**
 * The clocks of this machine: the wall clock, and a count of passed time that stops while Lambda freezes the process.
 */
export interface MachineClocks {
  readonly wall: () => number;
  readonly count: () => number;
}

const MACHINE: MachineClocks = { wall: () => Date.now(), count: () => performance.now() };

/**
 * A clock that does not believe a wall clock that differs from AWS's. If an operator's clock is days ahead, every key
 * looks free, and a start would do the work of an ended run again.
 *
 * If the wall clock moved since the last response, it was set or the process was frozen; the next response says which.
 * Until then the later time is the guess, so that what is written now is not removed too early. A wait for a time does not
 * end by that guess, but by AWS's last time and the count since. If the process was frozen, the wait looks again at once,
 * and the release of its run has brought AWS's time by then (schedule 235).
 */
export function clockBesideAws(clients: readonly DatedClient[], { wall, count }: MachineClocks = MACHINE): Clock {
  let told: Told | null = null;
  for (const client of clients) {
    tellDates(client, ({ date }) => {
      told = { date, wall: wall(), counted: count() };
    });
  }
  const judge = (): Readonly<Record<"now" | "earliest" | "counted", number>> => {
    const now = wall();
    const same = { now, earliest: now, counted: now };
    if (told === null) return same;
    const passed = count() - told.counted;
    const theirs = Math.floor(told.date + passed);
    if (Math.abs(now - theirs) <= CLOCK.marginMs) return same;
    const hasMoved = Math.abs(now - told.wall - passed) > CLOCK.marginMs;
    return { now: hasMoved ? Math.max(now, theirs) : theirs, earliest: Math.min(now, theirs), counted: theirs };
  };
  return { ...systemClock, now: () => judge().now, earliest: () => judge().earliest, counted: () => judge().counted };
}
