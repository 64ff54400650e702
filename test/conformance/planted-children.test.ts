/** The suite notices a world that makes a child for a stale process, makes one twice, or makes it apart from its parent. */
import { describe, expect, test } from "vitest";
import type { MemoryStore } from "../../src/adapters/memory/tables.ts";
import { runTableCases } from "../../src/testing/conformance/index.ts";
import type { RunTable } from "../../src/ports/run-table.ts";
import { type DecisionCalls, withCalls } from "../../src/testing/decisions.ts";
import { failing } from "./failing.ts";
import { memoryTableWorld } from "./worlds.ts";

interface Planted {
  readonly breach: string;
  /** How the name of a case that catches it begins. */
  readonly caught: string;
  readonly bend: (table: RunTable, store: MemoryStore) => Partial<RunTable & DecisionCalls>;
}

let fences = 0;

const PLANTED: readonly Planted[] = [
  {
    breach: "any epoch may make children",
    caught: "createChildren is fenced by another epoch",
    bend: (table, store) => ({
      createChildren: (of) => table.createChildren({ ...of, epoch: store.rows.get(of.run)?.epoch ?? 0 }),
    }),
  },
  {
    breach: "the ID of a report is not looked at",
    caught: "createChildren does not make a child whose report was delivered",
    bend: (table) => ({
      createChildren: (of) =>
        table.createChildren({
          ...of,
          children: of.children.map((each) => ({ ...each, reportId: `${each.reportId}-` })),
        }),
    }),
  },
  {
    breach: "a child that is left alone leaves no trace",
    caught: "createChildren makes a child that is left alone once",
    bend: (table, store) => ({
      createChildren: async (of) => {
        const outcome = await table.createChildren(of);
        for (const { creation, isLeft } of of.children) if (isLeft) store.rows.delete(creation.run);
        store.messages.clear();
        return outcome;
      },
    }),
  },
  {
    breach: "a copy of a creation overwrites what is there",
    caught: "createChildren finds what an earlier copy made",
    bend: (table, store) => ({
      createChildren: async (of) => {
        for (const { creation } of of.children) store.rows.delete(creation.run);
        return table.createChildren(of);
      },
    }),
  },
  {
    breach: "one child that is there is an answer for all",
    caught: "createChildren finds what an earlier copy made",
    bend: (table, store) => ({
      createChildren: async (of) => {
        const [first] = of.children;
        const row = first === undefined ? undefined : store.rows.get(first.creation.run);
        if (row === undefined) return table.createChildren(of);
        return { kind: "made", children: of.children.map(() => ({ kind: "exists", row })) };
      },
    }),
  },
  {
    breach: "any epoch may fence a child",
    caught: "fenceChild is refused to another epoch",
    bend: (table, store) => ({
      fenceChild: (fence) => table.fenceChild({ ...fence, epoch: store.rows.get(fence.run)?.epoch ?? 0 }),
    }),
  },
  {
    breach: "a fence has no number",
    caught: "fenceChild leaves the child to its next process",
    bend: (table) => ({ fenceChild: (fence) => table.fenceChild({ ...fence, dispatch: 1_000 + (fences += 1) }) }),
  },
  {
    breach: "a fence forgets until when the process before may act",
    caught: "fenceChild takes the child from its process",
    bend: (table, store) => ({
      fenceChild: async (fence) => {
        const outcome = await table.fenceChild(fence);
        const row = store.rows.get(fence.child);
        if (row !== undefined) store.rows.set(fence.child, { ...row, effectsSettleAt: 0 });
        return outcome;
      },
    }),
  },
  {
    breach: "a fence forgets a cancel",
    caught: "fenceChild names the execution that waited",
    bend: (table, store) => ({
      fenceChild: async (fence) => {
        const outcome = await table.fenceChild(fence);
        const row = store.rows.get(fence.child);
        if (row !== undefined && outcome.kind === "fenced") store.rows.set(fence.child, { ...row, cancel: false });
        return outcome;
      },
    }),
  },
];

describe("a table in which", () => {
  test.each(PLANTED)("$breach is noticed", async ({ caught, bend }) => {
    const names = await failing(runTableCases, () =>
      memoryTableWorld((table, store) => withCalls(table, bend(table, store))),
    );
    expect(names.filter((name) => name.startsWith(caught))).not.toEqual([]);
  });
});
