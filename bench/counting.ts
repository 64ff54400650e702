/** Counts what a run asks of its stores: calls, and the bytes that it hands over. Counts do not depend on the machine. */
import type { World } from "../src/ports/world.ts";
import { COMMIT } from "../src/protocol/row-commit.ts";
import { CLAIM } from "../src/protocol/row-claim.ts";
import { withCalls } from "../src/testing/decisions.ts";

export interface Counted {
  objectBytes: number;
  rowBytes: number;
  gets: number;
  puts: number;
  rowWrites: number;
}

/** The world, whose calls for one run are added to `counted`. */
export function counting(world: World, counted: Counted): World {
  let journal: Uint8Array | null = null;
  const { table, objects } = world;
  return {
    ...world,
    objects: {
      ...objects,
      get: (key) => {
        counted.gets += 1;
        return objects.get(key);
      },
      put: (key, bytes) => {
        counted.puts += 1;
        counted.objectBytes += bytes.byteLength;
        return objects.put(key, bytes);
      },
    },
    table: withCalls(table, {
      claim: (claim) => {
        counted.rowWrites += 1;
        return table.decide(claim, CLAIM);
      },
      commit: (commit) => {
        counted.rowWrites += 1;
        counted.rowBytes += addedBytes(journal, commit.journal);
        ({ journal } = commit);
        return table.decide(commit, COMMIT);
      },
    }),
  };
}

/** A store keeps the parts that a journal begins with. */
function addedBytes(before: Uint8Array | null, journal: Uint8Array | null): number {
  if (journal === null) return 0;
  const isLonger = before !== null && Buffer.compare(journal.subarray(0, before.byteLength), before) === 0;
  return journal.byteLength - (isLonger ? before.byteLength : 0);
}

export const nothing = (): Counted => ({ objectBytes: 0, rowBytes: 0, gets: 0, puts: 0, rowWrites: 0 });
