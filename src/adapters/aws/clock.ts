/**
 * The clock of the machine that runs an invocation, and AWS's own: each answer carries a date. Clocks of two machines differ
 * by less than the lease margin, or one of them is wrong; AWS's is the one that deletes rows whose time is over.
 */
import { CLOCK } from "../../protocol/steadiness.ts";
import type { Clock } from "../../ports/world.ts";
import { type DatedClient, tellDates } from "./dates.ts";

export const systemClock: Clock = {
  now: () => Date.now(),
  earliest: () => Date.now(),
  after: (delayMs, call) => {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};

/** What an answer told: AWS's time, with this machine's wall clock and its count of passed time at that moment. */
interface Told {
  readonly date: number;
  readonly wall: number;
  readonly counted: number;
}

/** What this machine shows: the wall clock, and a count of passed time that stands still while Lambda freezes the process. */
export interface MachineClocks {
  readonly wall: () => number;
  readonly count: () => number;
}

const MACHINE: MachineClocks = { wall: () => Date.now(), count: () => performance.now() };

/**
 * An operator's clock is days ahead: by it each key is free, and a start does the work of an ended run again. So a wall
 * clock that differs from AWS's is not believed. Where it moved since the last answer, it was set or the process was
 * frozen, and the next answer says which: until then the later time is the guess, so that what is written now is not
 * removed too early.
 */
export function clockBesideAws(clients: readonly DatedClient[], { wall, count }: MachineClocks = MACHINE): Clock {
  let told: Told | null = null;
  for (const client of clients) {
    tellDates(client, ({ date }) => {
      told = { date, wall: wall(), counted: count() };
    });
  }
  const judge = (): { readonly now: number; readonly earliest: number } => {
    const now = wall();
    if (told === null) return { now, earliest: now };
    const passed = count() - told.counted;
    const theirs = Math.floor(told.date + passed);
    if (Math.abs(now - theirs) <= CLOCK.marginMs) return { now, earliest: now };
    const hasMoved = Math.abs(now - told.wall - passed) > CLOCK.marginMs;
    return { now: hasMoved ? Math.max(now, theirs) : theirs, earliest: Math.min(now, theirs) };
  };
  return { ...systemClock, now: () => judge().now, earliest: () => judge().earliest };
}
