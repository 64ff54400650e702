/**
 * Virtual time for many thousand processes: a heap of timers, and a loop that moves to the next one. Its resolution is a
 * millisecond, so the processes of one millisecond go on together.
 */
import type { Clock } from "../../../src/ports/world.ts";

export interface VirtualTime extends Clock {
  /** Resolves that many milliseconds from now. */
  wait(ms: number): Promise<void>;
  /** Moves from timer to timer until none is left. */
  runUntilIdle(): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  call: (() => void) | null;
}

export function virtualTime(startAt: number): VirtualTime {
  const heap = new Heap();
  let [now, order] = [startAt, 0];
  const after = (delayMs: number, call: () => void): (() => void) => {
    order += 1;
    const timer: Timer = { at: now + Math.max(0, Math.ceil(delayMs)), order, call };
    heap.push(timer);
    return () => {
      timer.call = null;
    };
  };
  return {
    ...{ now: () => now, earliest: () => now, after },
    wait: (ms) => new Promise((resolve) => void after(ms, resolve)),
    runUntilIdle: async () => {
      await promisesSettled();
      for (let next = heap.first(); next !== undefined; next = heap.first()) {
        now = next.at;
        while (heap.first()?.at === now) heap.pop()?.call?.();
        await promisesSettled();
      }
    },
  };
}

const promisesSettled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** A binary heap: the earliest timer first, and of two for one moment the older one. */
class Heap {
  readonly #timers: Timer[] = [];

  first = (): Timer | undefined => this.#timers[0];

  push(timer: Timer): void {
    let at = this.#timers.length;
    this.#timers.push(timer);
    for (let parent = (at - 1) >> 1; at > 0 && this.#isBefore(at, parent); parent = (at - 1) >> 1) {
      this.#swap(at, parent);
      at = parent;
    }
  }

  pop(): Timer | undefined {
    const last = this.#timers.length - 1;
    this.#swap(0, last);
    const popped = this.#timers.pop();
    for (let at = 0, next = this.#childOf(0); next !== null && this.#isBefore(next, at); next = this.#childOf(at)) {
      this.#swap(at, next);
      at = next;
    }
    return popped;
  }

  /** The earlier child; null without one. */
  #childOf(at: number): number | null {
    const [left, right] = [2 * at + 1, 2 * at + 2];
    if (left >= this.#timers.length) return null;
    return right < this.#timers.length && this.#isBefore(right, left) ? right : left;
  }

  #isBefore(one: number, other: number): boolean {
    const [first, second] = [this.#timers[one], this.#timers[other]];
    if (first === undefined || second === undefined) return false;
    return first.at - second.at < 0 || (first.at === second.at && first.order < second.order);
  }

  #swap(one: number, other: number): void {
    const [first, second] = [this.#timers[one], this.#timers[other]];
    if (first === undefined || second === undefined) return;
    [this.#timers[one], this.#timers[other]] = [second, first];
  }
}
