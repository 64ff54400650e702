/** Budgets across deaths: what a process spent that nobody saw end, and what was decided about more of it. */
import { expect, test } from "vitest";
import { show } from "../../src/operations/views.ts";
import { beginRun } from "../support/harness/drive.ts";
import { budgetRequestsOf, grantBudget, withBudget } from "../support/agents/budget-gates.ts";
import {
  scriptedAgent,
  callsThenFinal,
  createChainHarness,
  neverSettles,
  flushPromises,
  MS,
} from "../support/harness/harness.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { type DecisionCalls, withCalls } from "../../src/testing/decisions.ts";

const PARKED_MS = 3_600_000;

test("schedule 62: a process keeps dying before it commits; its working time is counted nevertheless", async () => {
  const harness = createChainHarness();
  const part = { reply: callsThenFinal(1), run: () => "acted" };
  const agent = withBudget(scriptedAgent(part), { wall: 60_000, takeovers: 50 });
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runAttempt(agent);
  expect(harness.row(run).spent.wallMs ?? 0).toBe(0);
  // It is looked at an hour later: nobody was at work until then.
  harness.clock.moveTo(harness.clock.now() + PARKED_MS);
  const stuck = { ...agent, model: scriptedAgent({ reply: neverSettles }).model };
  for (let deaths = 0; deaths < 3; deaths += 1) {
    const out = harness.startAttempt();
    out.perform({ world: harness.world, agent: stuck }).catch(() => undefined);
    await flushPromises();
    harness.clock.moveTo(harness.clock.now() + 1_000);
    out.end(null);
  }
  const died = 3_000;
  await harness.runUntilIdle(agent);
  const { status, spent } = harness.row(run);
  expect(status).toBe("completed");
  // At least what it was, at most a lease for each death.
  expect(spent.wallMs).toBeGreaterThanOrEqual(died);
  expect(spent.wallMs).toBeLessThanOrEqual(3 * (MS.beat + MS.skew));
  // With less it does not get that far.
  const short = withBudget(scriptedAgent(part), { wall: 1, takeovers: 50 });
  const other = await beginRun(harness.world, short, {});
  await harness.runAttempt(short);
  const out = harness.startAttempt();
  out.perform({ world: harness.world, agent: { ...short, model: stuck.model } }).catch(() => undefined);
  await flushPromises();
  harness.clock.moveTo(harness.clock.now() + 1_000);
  out.end(null);
  await harness.runUntilIdle(short);
  expect(await show(harness.world, other.run)).toMatchObject({
    status: "failed",
    failure: { code: "BudgetExhausted" },
  });
});

test("schedule 63: an extension is denied and the process dies before it ends the run; no second request is made", async () => {
  const harness = createChainHarness();
  const agent = withBudget(scriptedAgent({ reply: callsThenFinal(3) }), { beats: 1, onExhausted: "ask" });
  const { run } = await beginRun(harness.world, agent, {});
  for (let tasks = 0; harness.row(run).park === null && tasks < 9; tasks += 1) await harness.runAttempt(agent);
  expect(await budgetRequestsOf(harness.world, run)).toMatchObject({ reason: "1 of 1 beats are used" });
  harness.clock.moveTo((await budgetRequestsOf(harness.world, run))?.expiresAt ?? 0);
  let commits = 0;
  const commit: DecisionCalls["commit"] = async (asked) => {
    commits += 1;
    return commits === 1 ? harness.world.table.decide(asked, COMMIT) : neverSettles();
  };
  await harness.loseAttempt(agent, { ...harness.world, table: withCalls(harness.world.table, { commit }) });
  expect(commits).toBe(2);
  await harness.runUntilIdle(agent);
  expect(await show(harness.world, run)).toMatchObject({ status: "failed", failure: { code: "BudgetExhausted" } });
});

test("schedule 64: the same limit is reached twice; the first decision does not answer the second request", async () => {
  const harness = createChainHarness();
  const agent = withBudget(scriptedAgent({ reply: callsThenFinal(3) }), { beats: 2, onExhausted: "ask" });
  const { run } = await beginRun(harness.world, agent, {});
  const untilParked = async (by: typeof agent): Promise<void> => {
    do await harness.runAttempt(by);
    while (harness.row(run).park === null);
  };
  await untilParked(agent);
  const first = (await budgetRequestsOf(harness.world, run))?.gate;
  // More of something else than the next version limits, which has the first limits again.
  const less = { ...withBudget(agent, { beats: 1, onExhausted: "ask" }), version: "2" };
  expect(await grantBudget(harness.world, { run, more: { beats: 1 } })).toMatchObject({ kind: "accepted" });
  await untilParked(less);
  const second = await budgetRequestsOf(harness.world, run);
  expect(second).toMatchObject({ reason: "2 of 2 beats are used", decided: false });
  expect(second?.gate).not.toBe(first);
  expect(await grantBudget(harness.world, { run, more: { beats: 9 } })).toMatchObject({ kind: "accepted" });
  await harness.runUntilIdle(less);
  expect(harness.row(run).status).toBe("completed");
});
