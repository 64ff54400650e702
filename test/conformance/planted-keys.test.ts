/** The suite notices a world that forgets a key too early, keeps it too long, or judges it apart from the row. */
import { describe, expect, test } from "vitest";
import type { MemoryStore } from "../../src/adapters/memory/tables.ts";
import { runTableCases } from "../../src/testing/conformance/index.ts";
import { type DecisionCalls, withCalls } from "../../src/testing/decisions.ts";
import { failing } from "./failing.ts";
import { memoryTableWorld } from "./worlds.ts";
import type { Ports } from "../support/harness/ports.ts";
import { PURGE } from "../../src/protocol/row-removal.ts";

interface Planted {
  readonly breach: string;
  /** How the name of a case that catches it begins. */
  readonly caught: string;
  readonly bend: (table: Ports, store: MemoryStore) => Partial<Ports & DecisionCalls>;
}

/** What the table does, as if no key were kept at that moment. */
async function withoutKeys<T>({ tombstones }: MemoryStore, act: () => Promise<T>): Promise<T> {
  const kept = [...tombstones];
  tombstones.clear();
  const outcome = await act();
  for (const [run, tombstone] of kept) if (!tombstones.has(run)) tombstones.set(run, tombstone);
  return outcome;
}

const PLANTED: readonly Planted[] = [
  {
    breach: "create checks rows alone",
    caught: "create returns the tombstone once the row is expired, removed and cleaned up",
    bend: (table, store) => ({ create: (creation) => withoutKeys(store, () => table.create(creation)) }),
  },
  {
    breach: "the clean-up removes the tombstone",
    caught: "create returns the tombstone once the row is expired, removed and cleaned up",
    bend: (table, store) => ({
      forget: async (of) => {
        store.tombstones.delete(of.run);
        return table.forget(of);
      },
    }),
  },
  {
    breach: "a purge removes the tombstone",
    caught: "keeps the key of a purged run, and create returns its tombstone",
    bend: (table, store) => ({
      purge: async (of) => {
        store.tombstones.delete(of.run);
        return table.decide(of, PURGE);
      },
    }),
  },
  {
    breach: "a tombstone ends a live run",
    caught: "ignores a tombstone while its row exists: create finds the run",
    bend: (table, store) => ({
      create: async (creation) => {
        const tombstone = store.tombstones.get(creation.run);
        return tombstone === undefined ? table.create(creation) : { kind: "ended", tombstone };
      },
    }),
  },
  {
    breach: "a key is kept until its deletion, beyond its expiry",
    caught: "frees a key exactly at its expiry, whether its tombstone is deleted or not",
    bend: (_, store) => ({ readKey: async (run) => store.tombstones.get(run) ?? null }),
  },
  {
    breach: "tombstones are never removed",
    caught: "the world removes expired tombstones only, and announces no removal of a tombstone",
    bend: (_, store) => {
      const { expire, tombstones } = store;
      store.expire = (now) => {
        const kept = [...tombstones];
        expire(now);
        for (const [run, tombstone] of kept) tombstones.set(run, tombstone);
      };
      return {};
    },
  },
  {
    breach: "the last tombstone wins, of any epoch",
    caught: "keeps the tombstone of the newest epoch of an incarnation, then the newest one",
    bend: (_, store) => ({
      keepKey: async (tombstone) => {
        store.tombstones.set(tombstone.run, tombstone);
        return { kind: "kept" };
      },
    }),
  },
  {
    breach: "forgetKey ignores the incarnation",
    caught: "forgetKey frees the key of one incarnation",
    bend: (_, store) => ({
      forgetKey: async ({ run }) => {
        store.tombstones.delete(run);
        return { kind: "forgotten" };
      },
    }),
  },
];

describe("a breach of the keys of ended runs is caught", () => {
  test.each(PLANTED)("$breach", async ({ bend, caught }) => {
    const bent = () => memoryTableWorld((table, store) => withCalls(table, bend(table, store)));
    const failed = await failing(runTableCases, bent);
    expect(failed.filter((name) => name.startsWith(caught))).toHaveLength(1);
  });
});
