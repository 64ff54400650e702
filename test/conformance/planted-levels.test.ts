/** The suites notice a world that lets an older process go on with a newer run, or drops what it does not know. */
import { expect, test } from "vitest";
import type { MemoryStore } from "../../src/adapters/memory/tables.ts";
import { runTableCases } from "../../src/testing/conformance/index.ts";
import type { Row } from "../../src/protocol/row.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";
import { type DecisionCalls, withCalls } from "../../src/testing/decisions.ts";
import { failing } from "./failing.ts";
import { memoryTableWorld } from "./worlds.ts";
import type { Ports } from "../support/harness/ports.ts";

interface Planted {
  readonly breach: string;
  /** How the names of the cases that catch it begin. */
  readonly caught: readonly string[];
  readonly bend: (table: Ports, store: MemoryStore) => Partial<Ports & DecisionCalls>;
}

/** The row as a process would write it that knows no more than these fields. */
const stripped = (store: MemoryStore, run: string): void => {
  const { future: _, ...row } = store.rows.get(run) as Row & { readonly future?: string };
  store.rows.set(run, row);
};

const LEVELS: readonly Planted[] = [
  {
    breach: "a claim ignores the level",
    caught: [
      "refuses a claim below the level of the row and changes nothing",
      "answers a claim below the level of an ended row with the level, not with the end",
    ],
    bend: (table) => ({ claim: (claim) => table.decide({ ...claim, level: 1_000 }, CLAIM) }),
  },
  {
    breach: "a commit does not raise the level",
    caught: [
      "a commit raises the level",
      "refuses a claim below the level of the row and changes nothing",
      "answers a claim below the level of an ended row with the level, not with the end",
    ],
    bend: (table) => ({ commit: ({ level: _, ...commit }) => table.decide(commit, COMMIT) }),
  },
  {
    breach: "a commit lowers the level",
    caught: ["a commit raises the level"],
    bend: (table, store) => ({
      commit: (commit) => {
        const { level: _, ...row } = store.rows.get(commit.run) as Row;
        store.rows.set(commit.run, row);
        return table.decide(commit, COMMIT);
      },
    }),
  },
  {
    breach: "a commit drops unknown fields",
    caught: ["claims and commits keep unknown fields of the row"],
    bend: (table, store) => ({
      commit: async (commit) => {
        stripped(store, commit.run);
        return table.decide(commit, COMMIT);
      },
    }),
  },
  {
    breach: "a delivery drops unknown fields",
    caught: ["accepts messages, requests, parks and hand-overs for any level, and keeps unknown fields"],
    bend: (table, store) => ({
      deliver: async (delivery) => {
        stripped(store, delivery.run);
        return table.deliver(delivery);
      },
    }),
  },
];

test.each(LEVELS)("$breach", async ({ bend, caught }) => {
  const failed = await failing(runTableCases, () =>
    memoryTableWorld((table, store) => withCalls(table, bend(table, store))),
  );
  for (const name of caught) expect(failed.filter((each) => each.startsWith(name))).toHaveLength(1);
});
