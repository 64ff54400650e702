/** The suites notice a world that removes too much, too early, too little, or without telling anybody. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { type MemoryStore, memoryObjectStore, memoryStore } from "../../src/adapters/memory/tables.ts";
import { type ObjectStoreWorld, objectStoreCases, runTableCases } from "../../src/testing/conformance/index.ts";
import type { ObjectStore } from "../../src/ports/object-store.ts";
import { type DecisionCalls, withCalls } from "../../src/testing/decisions.ts";
import { failing } from "./failing.ts";
import { memoryTableWorld } from "./worlds.ts";
import type { Ports } from "../support/harness/ports.ts";
import { PURGE } from "../../src/protocol/row-removal.ts";

interface Planted<Port> {
  readonly breach: string;
  /** How the name of a case that catches it begins. */
  readonly caught: string;
  readonly bend: (port: Port, store: MemoryStore) => Partial<Port & DecisionCalls>;
}

const TABLES: readonly Planted<Ports>[] = [
  {
    breach: "purge removes a run whose end is not notified",
    caught: "purge keeps a live run, and one whose end is not delivered",
    bend: (table, store) => ({
      purge: (of) => {
        const row = store.rows.get(of.run);
        if (row?.status === "completed") store.rows.set(of.run, { ...row, endNotified: true });
        return table.decide(of, PURGE);
      },
    }),
  },
  {
    breach: "purge announces no removal",
    caught: "purge removes an ended run",
    bend: (table, store) => ({
      purge: async (of) => {
        const outcome = await table.decide(of, PURGE);
        store.removed.length = 0;
        return outcome;
      },
    }),
  },
  {
    breach: "purge ignores the incarnation",
    caught: "purge removes no row of another incarnation or format, and no expired one",
    bend: (table, store) => ({
      purge: (of) => table.decide({ ...of, born: store.rows.get(of.run)?.born ?? "" }, PURGE),
    }),
  },
  {
    breach: "create overwrites an expired row",
    caught: "create over an expired row removes that incarnation, and its removal is announced",
    bend: (table, store) => ({
      create: async (creation) => {
        const outcome = await table.create(creation);
        store.removed.length = 0;
        return outcome;
      },
    }),
  },
  {
    breach: "a row expires as soon as its run has ended",
    caught: "a row expires at its time and not before, and its removal is announced",
    bend: (_, store) => {
      const { expire } = store;
      store.expire = () => expire(Number.MAX_SAFE_INTEGER);
      return {};
    },
  },
  {
    breach: "a run whose end is not notified expires",
    caught: "a live run, or one whose end is not delivered, never expires",
    bend: (_, store) => {
      store.expire = () => {
        for (const [run, { status }] of store.rows) if (status === "completed") store.rows.delete(run);
      };
      return {};
    },
  },
  {
    breach: "forget removes the row as well",
    caught: "forget removes the items of one incarnation",
    bend: (table, store) => ({
      forget: async (of) => {
        store.rows.delete(of.run);
        return table.forget(of);
      },
    }),
  },
  {
    breach: "forget leaves used IDs",
    caught: "forget removes the items of one incarnation",
    bend: (_, store) => ({
      forget: async (of) => {
        for (const item of store.messages.values()) if (item.of.run === of.run) item.message = null;
      },
    }),
  },
  {
    breach: "forget ignores the incarnation",
    caught: "forget touches nothing of the next incarnation",
    bend: (_, store) => ({
      forget: async (of) => {
        for (const [id, item] of store.messages) if (item.of.run === of.run) store.messages.delete(id);
      },
    }),
  },
];

const OBJECTS: readonly Planted<ObjectStore>[] = [
  {
    breach: "keys are ordered by UTF-16 code units",
    caught: "keysAfter returns the keys in byte order, each once, with the time of its put",
    bend: (_, store) => ({
      keysAfter: async (after, limit) => {
        const keys = [...store.objects.keys()].filter((each) => each > after).toSorted();
        return keys.slice(0, limit).map((key) => ({ key, putAt: store.putAt.get(key) ?? 0 }));
      },
    }),
  },
  {
    breach: "a page skips the key after its last one",
    caught: "keysAfter returns the keys in byte order, each once, with the time of its put",
    bend: (objects) => ({
      keysAfter: async (after, limit) => (await objects.keysAfter(after, limit + 1)).slice(Math.min(1, limit - 1)),
    }),
  },
  {
    breach: "a prefix is treated as a pattern",
    caught: "removeUnder removes the keys with that prefix and no others",
    bend: (_, { objects }) => ({
      removeUnder: async (prefix) => {
        const pattern = new RegExp(`^${prefix.replaceAll("_", ".")}`);
        for (const key of [...objects.keys()].filter((each) => pattern.test(each))) objects.delete(key);
      },
    }),
  },
  {
    breach: "only one page of objects is removed",
    caught: "removeUnder removes any number of objects",
    bend: (_, { objects }) => ({
      removeUnder: async (prefix) => {
        const page = [...objects.keys()].filter((each) => each.startsWith(prefix)).slice(0, 1_000);
        for (const key of page) objects.delete(key);
      },
    }),
  },
];

describe("a breach of removal is caught", () => {
  test.each(TABLES)("$breach", async ({ bend, caught }) => {
    const bent = () => memoryTableWorld((table, store) => withCalls(table, bend(table, store)));
    const failed = await failing(runTableCases, bent);
    expect(failed.filter((name) => name.startsWith(caught))).toHaveLength(1);
  });

  test.each(OBJECTS)("$breach", async ({ bend, caught }) => {
    const bent = (): ObjectStoreWorld => {
      const store = memoryStore();
      const objects = memoryObjectStore(store, virtualClock(0));
      return { objects: { ...objects, ...bend(objects, store) }, prefix: "runs", now: () => 0 };
    };
    const failed = await failing(objectStoreCases, bent);
    expect(failed.map((name) => name.startsWith(caught))).toEqual([true]);
  });
});
