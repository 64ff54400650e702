/** The pages of what waits for a human, in a store of many runs. */
import { expect, test } from "vitest";
import type { Status } from "../../src/core/phases.ts";
import { listGates } from "../../src/operations/approvals.ts";
import { approvalAgent } from "../support/agents/approval-agent.ts";
import { startKeyedRun } from "../support/harness/chain-steps.ts";
import { createChainHarness } from "../support/harness/harness.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";

/** Runs that wait at a gate, and the function that adds newer copies of the first one. The clock goes on with each. */
async function waiting(...keys: readonly string[]) {
  const harness = createChainHarness();
  const agent = approvalAgent();
  const runs: string[] = [];
  for (const key of keys) runs.push((await startKeyedRun(harness.world, { agent, key })).run);
  await harness.runUntilIdle(agent);
  const first = harness.row(runs[0] ?? "");
  const addCopies = (count: number, status: Status): void => {
    for (let index = 0; index < count; index += 1) {
      const run = `local-${status.slice(0, 2)}${index.toString(2).replaceAll("0", "a").replaceAll("1", "b").padStart(24, "a")}`;
      const statusSince = first.statusSince + 1_000 + index;
      harness.world.store.rows.set(run, rewriteRow(first, { run, status, statusSince }));
    }
  };
  return { harness, runs, addCopies };
}

const ALL = { tenant: "local", after: null, bytesMax: null };

test("one page has a gate that is older than hundreds of runs that have ended", async () => {
  const { harness, runs, addCopies } = await waiting("old");
  addCopies(250, "completed");
  expect(await listGates(harness.world, ALL)).toMatchObject({ gates: [{ run: runs[0] }], next: null });
});

test("the pages have each gate once, whatever the status of its run, and a page of any size goes on where it ended", async () => {
  const { harness, runs, addCopies } = await waiting("a", "b", "c", "d");
  const { rows } = harness.world.store;
  for (const [index, status] of (["waiting", "blocked", "paused", "running"] as const).entries()) {
    const run = runs[index] ?? "";
    rows.set(run, rewriteRow(harness.row(run), { status }));
  }
  const pagesOf = async (bytesMax: number | null) => {
    const pages = [await listGates(harness.world, { ...ALL, bytesMax })];
    for (let after = pages[0]?.next ?? null; after !== null && pages.length < 20;) {
      const page = await listGates(harness.world, { ...ALL, after, bytesMax });
      pages.push(page);
      after = page.next;
    }
    // The copies have no history of their own.
    return pages.map(({ gates, unreadable }) => [...gates, ...unreadable].map(({ run }) => run));
  };
  const [waits, blocked, paused, running] = runs;
  expect(await pagesOf(1)).toEqual([[blocked], [paused], [waits], [running]]);
  addCopies(110, "running");
  const [first = [], ...rest] = await pagesOf(null);
  expect({ first: first.length, rest: rest.length, different: new Set([...first, ...rest.flat()]).size }).toEqual({
    first: 100,
    rest: 1,
    different: 114,
  });
  expect(rest.flat()).toContain(running);
});

test("a cursor that names no status begins anew", async () => {
  const { harness, runs } = await waiting("a");
  for (const after of ['[1,"local-a"]', "WzEsImxvY2FsLWEiXQ", "completed.", ""]) {
    expect((await listGates(harness.world, { ...ALL, after })).gates).toMatchObject([{ run: runs[0] }]);
  }
});
