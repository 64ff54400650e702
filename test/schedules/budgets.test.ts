/** Budgets across deaths: what a process spent that nobody saw end, and what was decided about more of it. */
import { expect, test } from "vitest";
import { show } from "../../src/operations/views.ts";
import { begin } from "../support/drive.ts";
import { asks, give, withBudget } from "../support/spending.ts";
import { BEAT_MS, SKEW_MS, actor, callsThenOver, chainedStage, never, rowOf } from "../support/stage.ts";
import { hear, leave, lose, perform, playOut, rest, step } from "../support/steps.ts";

const PARKED_MS = 3_600_000;

test("schedule 62: a process dies over and over before it commits; its time at work is spent all the same", async () => {
  const on = chainedStage();
  const part = { reply: callsThenOver(1), run: () => "acted" };
  const agent = withBudget(actor(part), { wall: 60_000, takeovers: 50 });
  const { run } = await begin(on.world, agent, {});
  await step(on, agent);
  expect(rowOf(on, run).spent.wallMs ?? 0).toBe(0);
  // It is looked at an hour later: nobody was at work until then.
  on.clock.moveTo(on.clock.now() + PARKED_MS);
  const stuck = { ...agent, model: actor({ reply: never }).model };
  for (let deaths = 0; deaths < 3; deaths += 1) {
    const out = leave(on);
    perform(out.task, { world: on.world, agent: stuck }).catch(() => undefined);
    await rest();
    on.clock.moveTo(on.clock.now() + 1_000);
    hear(on, out, null);
  }
  const died = 3_000;
  await playOut(on, agent);
  const { status, spent } = rowOf(on, run);
  expect(status).toBe("completed");
  // At least what it was, at most a lease for each death.
  expect(spent.wallMs).toBeGreaterThanOrEqual(died);
  expect(spent.wallMs).toBeLessThanOrEqual(3 * (BEAT_MS + SKEW_MS));
  // With less it does not get that far.
  const short = withBudget(actor(part), { wall: 1, takeovers: 50 });
  const other = await begin(on.world, short, {});
  await step(on, short);
  const out = leave(on);
  perform(out.task, { world: on.world, agent: { ...short, model: stuck.model } }).catch(() => undefined);
  await rest();
  on.clock.moveTo(on.clock.now() + 1_000);
  hear(on, out, null);
  await playOut(on, short);
  expect(await show(on.world, other.run)).toMatchObject({ status: "failed", failure: { code: "BudgetExhausted" } });
});

test("schedule 63: more is denied, and the process dies before it has ended the run; nobody is asked again", async () => {
  const on = chainedStage();
  const agent = withBudget(actor({ reply: callsThenOver(3) }), { beats: 1, onExhausted: "ask" });
  const { run } = await begin(on.world, agent, {});
  for (let tasks = 0; rowOf(on, run).park === null && tasks < 9; tasks += 1) await step(on, agent);
  expect(await asks(on.world, run)).toMatchObject({ reason: "1 of 1 beats are used" });
  on.clock.moveTo((await asks(on.world, run))?.expiresAt ?? 0);
  let commits = 0;
  const commit: typeof on.world.table.commit = async (asked) => {
    commits += 1;
    return commits === 1 ? on.world.table.commit(asked) : never();
  };
  await lose(on, agent, { ...on.world, table: { ...on.world.table, commit } });
  expect(commits).toBe(2);
  await playOut(on, agent);
  expect(await show(on.world, run)).toMatchObject({ status: "failed", failure: { code: "BudgetExhausted" } });
});

test("schedule 64: the same limit is reached twice; what was decided the first time is no answer to the second", async () => {
  const on = chainedStage();
  const agent = withBudget(actor({ reply: callsThenOver(3) }), { beats: 2, onExhausted: "ask" });
  const { run } = await begin(on.world, agent, {});
  const untilParked = async (by: typeof agent): Promise<void> => {
    do await step(on, by);
    while (rowOf(on, run).park === null);
  };
  await untilParked(agent);
  const first = (await asks(on.world, run))?.gate;
  // More of something else than the next version limits, which has the first limits again.
  const less = { ...withBudget(agent, { beats: 1, onExhausted: "ask" }), version: "2" };
  expect(await give(on.world, { run, more: { beats: 1 } })).toMatchObject({ kind: "accepted" });
  await untilParked(less);
  const second = await asks(on.world, run);
  expect(second).toMatchObject({ reason: "2 of 2 beats are used", decided: false });
  expect(second?.gate).not.toBe(first);
  expect(await give(on.world, { run, more: { beats: 9 } })).toMatchObject({ kind: "accepted" });
  await playOut(on, less);
  expect(rowOf(on, run).status).toBe("completed");
});
