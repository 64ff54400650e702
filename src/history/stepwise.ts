/**
 * Work over a long history, in steps. It is written once as a generator that pauses after each step. A command performs it
 * at once, and a server hands over to others at each pause (`ports/reading.ts`).
 */
import { EVENTS_PER_TURN } from "../ports/reading.ts";

/** Work that pauses between its steps. */
export type Steps<T> = Generator<void, T, void>;

/** Performs all steps in this turn of the event loop. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Performs each step in a turn of its own; without `turn`, all at once. */
export async function inTurns<T>(steps: Steps<T>, turn: (() => Promise<void>) | undefined): Promise<T> {
  if (turn === undefined) return atOnce(steps);
  for (;;) {
    await turn();
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Handles each of the items, and pauses after as many as one turn may handle. */
export function* eachOf<Item>(items: Iterable<Item>, handle: (item: Item, index: number) => void): Steps<void> {
  let index = 0;
  for (const item of items) {
    handle(item, index);
    index += 1;
    if (index % EVENTS_PER_TURN === 0) yield;
  }
}
