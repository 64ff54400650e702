/** The delta log in memory. Values are copied on the way in and out. */
import { type Delta, type DeltaLog, PACE_OF_SERVICE, isBehind, isDeltaExpired } from "../../ports/delta-log.ts";
import type { Incarnation } from "../../protocol/row.ts";

/** The deltas of runs and the markers of their readers, which tests may read and change. */
export interface MemoryDeltas {
  /** By run and incarnation: the deltas of its last step. */
  readonly deltas: Map<string, readonly Delta[]>;
  /** Until when a reader is attached, by run. */
  readonly readers: Map<string, number>;
}

export const memoryDeltas = (): MemoryDeltas => ({ deltas: new Map(), readers: new Map() });

const keyOf = ({ run, born }: Incarnation): string => JSON.stringify([run, born]);

export function memoryDeltaLog({ deltas, readers }: MemoryDeltas): DeltaLog {
  return {
    pace: PACE_OF_SERVICE,
    attach: async ({ run, until }) => void readers.set(run, Math.max(until, readers.get(run) ?? 0)),
    attachedUntil: async ({ run, now }) => {
      const until = readers.get(run) ?? 0;
      return until > now ? until : null;
    },
    append: async (incarnation, delta) => {
      const stored = deltas.get(keyOf(incarnation)) ?? [];
      if (stored.some((each) => !isBehind(delta, each))) return;
      const same = stored.filter(({ epoch, version }) => epoch === delta.epoch && version === delta.version);
      deltas.set(keyOf(incarnation), [...same, structuredClone(delta)]);
    },
    read: async ({ after, limit, now, ...of }) => {
      const found = (deltas.get(keyOf(of)) ?? []).filter((each) => isBehind(each, after) && !isDeltaExpired(each, now));
      return structuredClone(found.slice(0, limit));
    },
    forget: async (incarnation) => {
      deltas.delete(keyOf(incarnation));
      readers.delete(incarnation.run);
    },
  };
}
