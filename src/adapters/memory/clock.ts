/** A virtual clock that moves only on request, and randomness from a seed. With both, a run can be repeated exactly. */
import { createHash } from "node:crypto";
import type { Clock, Random } from "../../ports/world.ts";

export interface VirtualClock extends Clock {
  /** When the next timer fires, epoch milliseconds, or null. */
  next(): number | null;
  /** Moves to that moment and fires every timer that is due by then, in order. */
  moveTo(moment: number): void;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly call: () => void;
}

/** A virtual clock that shows `startAt`, epoch milliseconds. */
export function virtualClock(startAt: number): VirtualClock {
  let now = startAt;
  let order = 0;
  let timers: readonly Timer[] = [];
  const first = (): Timer | undefined => timers[0];
  return {
    now: () => now,
    earliest: () => now,
    after: (delayMs, call) => {
      order += 1;
      const timer: Timer = { at: now + Math.max(0, delayMs), order, call };
      timers = [...timers, timer].toSorted((one, other) => one.at - other.at || one.order - other.order);
      return () => {
        timers = timers.filter((each) => each !== timer);
      };
    },
    next: () => first()?.at ?? null,
    moveTo: (moment) => {
      for (let due = first(); due !== undefined && due.at <= moment; due = first()) {
        const { at, call } = due;
        timers = timers.filter((each) => each !== due);
        now = Math.max(now, at);
        call();
      }
      now = Math.max(now, moment);
    },
  };
}

/** Randomness from a seed: the same seed gives the same digits in the same order. */
export function seededRandom(seed: string): Random {
  let count = 0;
  return {
    hex: () => {
      count += 1;
      return createHash("sha256").update(`${seed}/${count}`).digest("hex");
    },
  };
}
