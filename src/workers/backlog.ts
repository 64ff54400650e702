/**
 * Writes that must reach the store, in order, with pauses while the store does not take them. A full disk may get space
 * again. So an answer that cannot be stored now is kept and stored later; it is not lost, and the supervisor goes on.
 */
import type { SupervisorEvent } from "../ports/supervisor-events.ts";
import { type Clock, StoreUnreachable } from "../ports/world.ts";
import { createGrowingPause } from "./pauses.ts";

export interface Backlog {
  /** Keeps a write for the next `goOn`, which repeats a write that threw. So the write must be all or nothing. */
  readonly keep: (write: () => void) => void;
  /** Writes what is kept, then calls `next`. Does nothing during a pause. Throws only errors that are bugs. */
  readonly goOn: (next: () => void) => void;
  /** Writes what is kept, also during a pause, as far as the store takes it. */
  readonly flush: () => void;
}

/** An empty backlog. Pauses grow from 250 ms to 5 s. */
export function createBacklog({
  clock,
  onPause,
  onBack,
}: {
  readonly clock: Clock;
  readonly onPause: (pause: { readonly why: string; readonly ms: number }) => void;
  /** Called when everything is written for the first time after a pause. */
  readonly onBack: () => void;
}): Backlog {
  const kept: (() => void)[] = [];
  const pause = createGrowingPause(clock);

  const write = (next: () => void): void => {
    try {
      for (let first = kept[0]; first !== undefined; first = kept[0]) {
        first();
        kept.shift();
      }
      next();
      if (pause.end()) onBack();
    } catch (error) {
      if (!(error instanceof StoreUnreachable)) throw error;
      onPause({ why: error.message, ms: pause.begin() });
    }
  };
  return {
    keep: (one) => {
      kept.push(one);
    },
    goOn: (next) => {
      if (pause.isOver()) write(next);
    },
    flush: () => write(() => {}),
  };
}

/** Reports that commits wait for the store, which each of them says again and again. */
export function heldTold({
  clock,
  onEvent,
}: {
  readonly clock: Clock;
  readonly onEvent: (event: SupervisorEvent) => void;
}): (why: string) => void {
  let silentUntil = 0;
  return (why) => {
    if (clock.now() < silentUntil) return;
    silentUntil = clock.now() + HELD_TOLD_MS;
    onEvent({ kind: "waitingForStore", why, retryInMs: HELD_RETRY_MS });
  };
}

/** How often it is reported, and how soon a commit is sent again at the latest. */
const HELD_TOLD_MS = 5_000;
const HELD_RETRY_MS = 2_000;
