/** The kill switch of an agent: it shows its runs first, ends them all, and may be repeated. */
import { expect, test } from "vitest";
import type { RunTable } from "../../src/ports/run-table.ts";
import type { Row } from "../../src/protocol/row.ts";
import { CANCELLED_MAX, cancelAll } from "../../src/operations/cancel-all.ts";
import { startKeyedRun } from "../support/harness/chain-steps.ts";
import { type Harness, createChainHarness, scriptedAgent } from "../support/harness/harness.ts";
import { approvalAgent } from "../support/agents/approval-agent.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";

const OF = { tenant: "local", agent: "actor" };
const started = async (harness: Harness, ...keys: readonly string[]): Promise<readonly string[]> => {
  const runs: string[] = [];
  for (const key of keys) runs.push((await startKeyedRun(harness.world, { agent: scriptedAgent({}), key })).run);
  return runs;
};

test("names the live runs first, and cancels none of them", async () => {
  const harness = createChainHarness();
  const runs = await started(harness, "a", "b");
  const seen = await cancelAll(harness.world, { ...OF, confirmed: false });
  expect(seen).toEqual({
    kind: "notConfirmed",
    runs: expect.arrayContaining(runs.map((run) => ({ run, status: "queued" }))),
    more: false,
  });
  expect(runs.map((run) => harness.row(run).cancel)).toEqual([false, false]);
});

test("cancels every live run of the agent and tenant, whatever it waits for, and no other", async () => {
  const harness = createChainHarness();
  const waiting = approvalAgent();
  const parked = await startKeyedRun(harness.world, { agent: { ...waiting, name: "actor" }, key: "w" });
  await harness.runUntilIdle({ ...waiting, name: "actor" });
  expect(harness.row(parked.run).status).toBe("waiting");
  const runs = await started(harness, "a", "b");
  const other = await startKeyedRun(harness.world, { agent: { ...scriptedAgent({}), name: "other" }, key: "o" });
  const outcome = await cancelAll(harness.world, { ...OF, confirmed: true });
  expect(outcome).toMatchObject({ kind: "cancelled", failed: [], more: false });
  expect(outcome.runs.map(({ run }) => run).toSorted()).toEqual([parked.run, ...runs].toSorted());
  expect(harness.row(other.run).cancel).toBe(false);
  await harness.runUntilIdle([
    { ...waiting, name: "actor" },
    { ...scriptedAgent({}), name: "other" },
  ]);
  expect([parked.run, ...runs].map((run) => harness.row(run).status)).toEqual(["cancelled", "cancelled", "cancelled"]);
  expect(harness.row(other.run).status).toBe("completed");
  expect(await cancelAll(harness.world, { ...OF, tenant: "acme", confirmed: true })).toMatchObject({ runs: [] });
});

test("goes on where a request stopped, and asks no run twice", async () => {
  const harness = createChainHarness();
  const keys = Array.from({ length: CANCELLED_MAX + 3 }, (_, key) => `k${key}`);
  const runs = await started(harness, ...keys);
  const first = await cancelAll(harness.world, { ...OF, confirmed: true });
  expect({ runs: first.runs.length, more: first.more }).toEqual({ runs: CANCELLED_MAX, more: true });
  const second = await cancelAll(harness.world, { ...OF, confirmed: true });
  expect({ runs: second.runs.length, more: second.more }).toEqual({ runs: 3, more: false });
  expect(new Set([...first.runs, ...second.runs].map(({ run }) => run))).toEqual(new Set(runs));
  expect(await cancelAll(harness.world, { ...OF, confirmed: true })).toMatchObject({ runs: [], more: false });
});

test("names a run of a newer version of cairn, and cancels the others", async () => {
  const harness = createChainHarness();
  const [newer = "", own = ""] = await started(harness, "a", "b");
  harness.world.store.rows.set(newer, rewriteRow(harness.row(newer), { format: 99 }));
  expect(await cancelAll(harness.world, { ...OF, confirmed: true })).toMatchObject({
    runs: [{ run: own }],
    failed: [newer],
  });
});

test("finds a run that goes back to an earlier status while the statuses are listed", async () => {
  const harness = createChainHarness();
  const { world } = harness;
  const [run = ""] = await started(harness, "a");
  const become = (status: Row["status"]): void =>
    void world.store.rows.set(run, rewriteRow(harness.row(run), { status }));
  become("waiting");
  const list: RunTable["list"] = async (query) => {
    const page = await world.table.list(query);
    // What it waits for comes between the two lists.
    if (query.status === "running") become("running");
    return page;
  };
  const outcome = await cancelAll({ ...world, table: { ...world.table, list } }, { ...OF, confirmed: true });
  expect(outcome).toMatchObject({ kind: "cancelled", runs: [{ run }] });
});
