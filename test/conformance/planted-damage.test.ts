/** The suites notice a world that guesses at a damaged row, hides it, or lets it break the pages that it stands on. */
import { expect, test } from "vitest";
import type { MemoryStore } from "../../src/adapters/memory/tables.ts";
import { runTableCases } from "../../src/testing/conformance/index.ts";
import { type DecisionCalls, withCalls } from "../../src/testing/decisions.ts";
import { failing } from "./failing.ts";
import { memoryTableWorld } from "./worlds.ts";
import type { Ports } from "../support/harness/ports.ts";

interface Planted {
  readonly breach: string;
  /** How the name of a case that catches it begins. */
  readonly caught: string;
  readonly bend: (table: Ports, store: MemoryStore) => Partial<Ports & DecisionCalls>;
}

const DAMAGE: readonly Planted[] = [
  {
    breach: "a damaged row is read as missing",
    caught: "a damaged row is unreadable",
    bend: (table) => ({ read: (run, now) => table.read(run, now).catch(() => null) }),
  },
  {
    breach: "a damaged row is overwritten",
    caught: "a damaged row is unreadable",
    bend: (table, store) => ({
      create: (creation) => {
        if (store.rows.get(creation.run)?.epoch === undefined) store.rows.delete(creation.run);
        return table.create(creation);
      },
    }),
  },
  {
    breach: "a damaged row breaks its page",
    caught: "pages name damaged rows and contain all other rows",
    bend: (table) => ({
      list: async (query) => {
        const page = await table.list(query);
        if (page.damaged.length > 0) throw new SyntaxError("Unexpected end of JSON input");
        return page;
      },
    }),
  },
  {
    breach: "a damaged row is omitted from every page",
    caught: "pages name damaged rows and contain all other rows",
    bend: (table) => ({ alive: async (query) => ({ ...(await table.alive(query)), damaged: [] }) }),
  },
  {
    breach: "every row of a page has the cursor of its end",
    caught: "a page can continue after any of its rows",
    bend: (table) => ({
      alive: async (query) => {
        const page = await table.alive(query);
        return { ...page, behind: page.behind.map(() => page.behind.at(-1) ?? "") };
      },
    }),
  },
];

test.each(DAMAGE)("$breach", async ({ bend, caught }) => {
  const failed = await failing(runTableCases, () =>
    memoryTableWorld((table, store) => withCalls(table, bend(table, store))),
  );
  expect(failed.filter((name) => name.startsWith(caught))).toHaveLength(1);
});
