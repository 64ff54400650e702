/** The cases of redriving can fail: each breach of the contract, planted in a world that keeps it otherwise. */
import { describe, expect, test } from "vitest";
import { runTableCases } from "../../src/testing/conformance/index.ts";
import type { MemoryStore } from "../../src/adapters/memory/tables.ts";
import { type Redrive, REDRIVE } from "../../src/protocol/row-redrive.ts";
import type { Row } from "../../src/protocol/row.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { END_NOTIFICATION } from "../../src/protocol/row-end-notification.ts";
import { type DecisionCalls, withCalls } from "../../src/testing/decisions.ts";
import { failing } from "./failing.ts";
import { memoryTableWorld } from "./worlds.ts";
import type { Ports } from "../support/harness/ports.ts";

interface Planted {
  readonly breach: string;
  readonly caught: string;
  readonly bend: (table: Ports, store: MemoryStore) => Partial<Ports & DecisionCalls>;
}

const rowIn = (store: MemoryStore, run: string): Row => store.rows.get(run) as Row;

/** What a redrive stores is changed afterwards. */
const leaving =
  (change: (row: Row, before: Row) => Partial<Row>): Planted["bend"] =>
  (table, store) => ({
    redrive: async (redrive) => {
      const before = rowIn(store, redrive.run);
      const outcome = await table.decide(redrive, REDRIVE);
      if (outcome.kind !== "redriven") return outcome;
      const row = { ...outcome.row, ...change(outcome.row, before) };
      store.rows.set(redrive.run, row);
      return { kind: "redriven", row };
    },
  });

/** The condition is that of the row as it is. */
const judging =
  (change: (row: Row) => Partial<Redrive>): Planted["bend"] =>
  (table, store) => ({
    redrive: (redrive) => table.decide({ ...redrive, ...change(rowIn(store, redrive.run)) }, REDRIVE),
  });

const PLANTED: readonly Planted[] = [
  {
    breach: "the time to live is kept",
    caught: "redrive gives a failed run the next epoch",
    bend: leaving((_, { expiresAtSec, endNotified }) => ({ expiresAtSec, endNotified })),
  },
  {
    breach: "the epoch is kept",
    caught: "redrive gives a failed run the next epoch",
    bend: leaving((_, { epoch }) => ({ epoch })),
  },
  {
    breach: "the execution is kept",
    caught: "grants one redrive when 50 redrives run at once",
    bend: leaving((_, { chain }) => ({ chain })),
  },
  {
    breach: "the epoch that was judged is not compared",
    caught: "refuses to redrive a run that has not failed, or that changed since it was read",
    bend: judging(({ epoch }) => ({ epoch })),
  },
  {
    breach: "the version that was judged is not compared",
    caught: "refuses to redrive a run that has not failed, or that changed since it was read",
    bend: judging(({ version }) => ({ version })),
  },
  {
    breach: "effectsSettleAt is lost",
    caught: "redrive keeps `effectsSettleAt`, the counters and the pending requests",
    bend: leaving(() => ({ effectsSettleAt: 0 })),
  },
  {
    breach: "the note is dropped by a release in an outage",
    caught: "keeps the redrive record when the first beat meets a store outage",
    bend: (table, store) => ({
      commit: async (commit) => {
        const outcome = await table.decide(commit, COMMIT);
        if (outcome.kind !== "committed" || commit.storeOutage === null) return outcome;
        const { redrive: _, ...row } = outcome.row;
        store.rows.set(commit.run, row);
        return { kind: "committed", row };
      },
    }),
  },
  {
    breach: "the note stays after a commit",
    caught: "the next execution claims a redriven run, and its first commit clears the redrive record",
    bend: (table, store) => ({
      commit: async (commit) => {
        const { redrive } = rowIn(store, commit.run);
        const outcome = await table.decide(commit, COMMIT);
        if (outcome.kind !== "committed" || redrive === undefined) return outcome;
        const row = { ...outcome.row, redrive };
        store.rows.set(commit.run, row);
        return { kind: "committed", row };
      },
    }),
  },
  {
    breach: "any end counts as notified",
    caught: "ignores a late delivery of the first end after a redrive",
    bend: (table) => ({ recordEndNotified: ({ epoch: _, ...of }) => table.decide(of, END_NOTIFICATION) }),
  },
];

describe("a breach of redriving is caught", () => {
  test.each(PLANTED)("$breach", async ({ bend, caught }) => {
    const bent = () => memoryTableWorld((table, store) => withCalls(table, bend(table, store)));
    const failed = await failing(runTableCases, bent);
    expect(failed.filter((name) => name.startsWith(caught))).toHaveLength(1);
  });
});
