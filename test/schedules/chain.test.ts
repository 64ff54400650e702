/** From execution to execution: whatever dies on the way, no run is left behind that nobody drives, and none is endless. */
import { expect, test } from "vitest";
import { RETRY_DELAYS_MS } from "../../src/protocol/chain.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { ledger, show } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { begin, runnerOf } from "../support/drive.ts";
import { BEAT_MS, type Stage, actor, chainedStage, never, passing, replyOf, rowOf } from "../support/stage.ts";
import { dieInTool, dyingAfter, frozenBefore, hear, leave, lose } from "../support/steps.ts";
import { perform, playOut, step, sweep, withTakeovers } from "../support/steps.ts";

const ATTEMPTS = RETRY_DELAYS_MS.length + 1;
/** So many attempts of an entry, and its run is handed over. */
const FEW = { entryAttemptsMax: ATTEMPTS };

const happened = ({ world }: Stage, run: string) =>
  reconcile(world, { run, call: "c1", as: "succeeded", result: null, by: "ann", note: null });

const stagesOf = ({ world }: Stage): readonly string[] =>
  [...world.chain.executions.values()].map(({ state, stage }) => `${state} ${stage}`);

test("schedule 9: the commit that moves a run to its next execution lands, its answer is lost with its process", async () => {
  const on = chainedStage({ chainClaimsMax: 1 });
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  await lose(
    on,
    agent,
    dyingAfter(on.world, "commit", ({ nextChain }) => nextChain),
  );
  expect(rowOf(on, run)).toMatchObject({ chain: 2, owner: null });
  expect(await replyOf(step(on, agent))).toMatchObject({ route: "renew", chain: 2 });
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", takeovers: 0 });
  expect(new Set(stagesOf(on))).toEqual(new Set(["End ended"]));
});

test("schedule 15: attempt 1 of a park stores its token, and a zombie attempt 0 comes with a dead one", async () => {
  const on = chainedStage();
  const agent = actor({ effect: "unsafe" });
  const { run } = await begin(on.world, agent, {});
  await dieInTool(on, agent);
  await step(on, agent);
  const zombie = leave(on);
  const frozen = frozenBefore(on.world, "park");
  const parking = perform(zombie.task, { world: frozen.world, agent });
  hear(on, zombie, null);
  await step(on, agent);
  const { park } = rowOf(on, run);
  expect(park?.entry.retry).toBe(1);
  frozen.thaw();
  await parking;
  expect(rowOf(on, run).park).toEqual(park);
  expect(await happened(on, run)).toEqual({ kind: "accepted" });
  await playOut(on, agent);
  expect(rowOf(on, run).status).toBe("completed");
});

test("schedule 24: all attempts of a beat die; its successor is not refused by the last dead one", async () => {
  const on = chainedStage(FEW);
  const keys: string[] = [];
  const agent = actor({ run: ({ key }) => keys.push(key) });
  const { run } = await begin(on.world, agent, {});
  for (let retry = 0; retry < ATTEMPTS; retry += 1) keys.push(await dieInTool(on, agent));
  expect(stagesOf(on)).toEqual(["Backoff waiting"]);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", chain: 2, takeovers: ATTEMPTS });
  expect(new Set(keys).size).toBe(1);
  expect(stagesOf(on)).toEqual(["End ended", "End ended"]);
});

test("schedule 25: every beat dies before it claims; no death is counted, and the deadline ends the run", async () => {
  const on = chainedStage(FEW);
  const agent = withTakeovers(actor({}), 2);
  const { run } = await begin(on.world, agent, {});
  const { deadline } = rowOf(on, run);
  for (let tasks = 0; tasks < 60; tasks += 1) {
    const out = leave(on);
    hear(on, out, out.task.kind === "beat" ? null : await perform(out.task, { world: on.world, agent }));
    expect(rowOf(on, run)).toMatchObject({ status: "queued", deaths: 0, takeovers: 0, deadline });
  }
  expect(rowOf(on, run).chain).toBeGreaterThan(5);
  on.clock.moveTo(deadline);
  await sweep(on.world);
  expect(await show(on.world, run)).toMatchObject({ status: "failed", failure: { code: "Expired" } });
});

test("schedule 26: every beat dies after its claim and keeps the lease fresh; a claim over the budget ends the run", async () => {
  const on = chainedStage({ overdueMs: 1 });
  const agent = withTakeovers(actor({}), 1);
  const { run } = await begin(on.world, agent, {});
  for (let retry = 0; retry < 2; retry += 1) {
    await lose(on, agent, dyingAfter(on.world, "claim"));
    const held = rowOf(on, run);
    await sweep(on.world);
    expect(rowOf(on, run)).toEqual(held);
  }
  const loaded: string[] = [];
  const agentOf = async (name: string) => {
    loaded.push(name);
    return { kind: "absent", why: "its bundle kills the process" } as const;
  };
  const runner = { ...runnerOf(on.world, agent), agentOf };
  let quiet = 0;
  for (let beats = 0; !rowOf(on, run).endNotified && beats < 9; beats += 1) {
    const out = leave(on);
    quiet = Math.max(quiet, rowOf(on, run).leaseUntil ?? 0);
    const invocation = { deadline: on.clock.now() + BEAT_MS, drain: new AbortController().signal };
    hear(on, out, await runTask(runner)(out.task, invocation));
  }
  expect(loaded).toEqual([]);
  expect(on.clock.now()).toBeGreaterThanOrEqual(quiet);
  expect(rowOf(on, run)).toMatchObject({ status: "failed", takeovers: 2 });
  expect(await show(on.world, run)).toMatchObject({ failure: { code: "CrashLoop" } });
});

test("schedule 38: all attempts of a park die, then all attempts of the rescue; they are tried like a beat", async () => {
  const on = chainedStage();
  const agent = actor({ effect: "unsafe" });
  const { run } = await begin(on.world, agent, {});
  await dieInTool(on, agent);
  await step(on, agent);
  for (const kind of ["park", "rescue"] as const) {
    for (let retry = 0; retry < ATTEMPTS; retry += 1) {
      const out = leave(on);
      expect(out.task.kind).toBe(kind);
      hear(on, out, null);
    }
    expect(stagesOf(on)).toEqual(["Backoff waiting"]);
  }
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "blocked", chain: 2 });
  expect(await happened(on, run)).toEqual({ kind: "accepted" });
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", endNotified: true });
});

test("schedule 39: the hand-over of a rescue is applied and its process dies; the retry finds the successor", async () => {
  const on = chainedStage(FEW);
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  for (let retry = 0; retry < ATTEMPTS; retry += 1) await dieInTool(on, agent);
  await lose(on, agent, dyingAfter(on.world, "handOver"));
  expect(rowOf(on, run)).toMatchObject({ chain: 2, takeovers: ATTEMPTS });
  expect(stagesOf(on)).toEqual(["Rescue due"]);
  expect(await step(on, agent)).toEqual({ kind: "rescue", until: null });
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", chain: 2, takeovers: ATTEMPTS });
});

test("schedule 45: a keyed call always outlives its timeout, each time its process ends; that is no crash loop", async () => {
  const on = chainedStage();
  const keys: string[] = [];
  const run = ({ key }: { readonly key: string }): Promise<never> => {
    keys.push(key);
    return never();
  };
  const agent = withTakeovers(actor({ run, timeoutMs: 400 }), 1);
  const payload = await begin(on.world, agent, {});
  let exits = 0;
  for (let count = 0; on.world.chain.next() !== null && count < 20; count += 1) {
    const out = leave(on);
    const result = await passing(on, perform(out.task, { world: on.world, agent }));
    if (result.kind === "exit") exits += 1;
    // Where a process cannot answer and end, nobody hears of it, and the retry finds what it committed.
    hear(on, out, result.kind === "exit" ? null : result);
  }
  expect([exits, keys.length, new Set(keys).size]).toEqual([3, 3, 1]);
  expect(rowOf(on, payload.run)).toMatchObject({ status: "completed", takeovers: 0 });
  expect(await ledger(on.world, payload.run)).toMatchObject([{ status: "unknown", attempts: 3 }]);
});
