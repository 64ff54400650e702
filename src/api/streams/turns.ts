/**
 * The turns of a server's readers: one part of one history in each turn of the event loop, over all requests, first come,
 * first served. Between two turns the process does everything else: it answers `/healthz`, and its supervisor hands out
 * beats and reads what workers send.
 */
import { EventParts } from "../../history/event-parts.ts";
import type { World } from "../../ports/world.ts";

/** Resolves in the next turn of the event loop. */
const ofLoop = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** What a turn is full of: a page of events, or an object of so many stored bytes. */
const FULL_BYTES = 4 * 1024;
/** What the smallest object takes of a turn. */
const LEAST = 1 / 16;

interface Waiting {
  /** From above 0 to 1. */
  readonly share: number;
  readonly go: () => void;
}

export class Turns {
  readonly #nextTurn: () => Promise<void>;
  readonly #waiting: Waiting[] = [];

  constructor(nextTurn: () => Promise<void> = ofLoop) {
    this.#nextTurn = nextTurn;
  }

  /** Resolves when the caller may handle its next part. `share`: how much of a turn that takes. */
  next(share = 1): Promise<void> {
    return new Promise((go) => {
      this.#waiting.push({ share, go });
      if (this.#waiting.length === 1) void this.#hand();
    });
  }

  /** Lets as many go in each turn as fit into it, and one at least. */
  async #hand(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#nextTurn();
      let left = 1;
      let count = 0;
      for (const { share } of this.#waiting) {
        if (count > 0 && share > left) break;
        left -= share;
        count += 1;
      }
      for (const { go } of this.#waiting.slice(0, count)) go();
      this.#waiting.splice(0, count);
    }
  }
}

/**
 * The same world, whose objects and pages of rows are each read in a turn of their own. So what a request makes of one of
 * them is bounded by its size, whatever the request is: no operation has to know of turns to be one that others survive.
 */
export function worldInTurns(world: World, turns: Turns): World {
  const turn = (): Promise<void> => turns.next();
  const { objects: stored, table: rows } = world;
  const objects: typeof stored = {
    ...stored,
    get: async (key) => {
      await turns.next(LEAST);
      const bytes = await stored.get(key);
      const share = Math.min(1, (bytes?.byteLength ?? 0) / FULL_BYTES);
      if (share > LEAST) await turns.next(share);
      return bytes;
    },
  };
  const table: typeof rows = {
    ...rows,
    list: async (query) => {
      await turn();
      return rows.list(query);
    },
    alive: async (query) => {
      await turn();
      return rows.alive(query);
    },
  };
  const parts = new EventParts(objects);
  const eventsAfter: EventParts["after"] = async (row, place) => {
    await turn();
    return parts.after(row, place);
  };
  return { ...world, objects, table, reading: { turn, eventsAfter } };
}
