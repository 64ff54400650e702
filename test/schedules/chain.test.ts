/** From execution to execution: whatever dies on the way, no run is left behind that nobody drives, and none is endless. */
import { expect, test } from "vitest";
import { RETRY_DELAYS_MS } from "../../src/protocol/chain.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { ledger, show } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { beginRun, runnerOf } from "../support/harness/drive.ts";
import {
  type Harness,
  scriptedAgent,
  createChainHarness,
  neverSettles,
  beatReply,
  MS,
} from "../support/harness/harness.ts";
import { dieInTool, crashAfterCall, freezeBeforeCall, sweep, withTakeovers } from "../support/harness/chain-steps.ts";

const ATTEMPTS = RETRY_DELAYS_MS.length + 1;
/** So many attempts of an entry, and its run is handed over. */
const FEW = { entryAttemptsMax: ATTEMPTS };

const happened = ({ world }: Harness, run: string) =>
  reconcile(world, { run, call: "c1", as: "succeeded", result: null, by: "ann", note: null });

const stagesOf = ({ world }: Harness): readonly string[] =>
  [...world.chain.executions.values()].map(({ state, stage }) => `${state} ${stage}`);

test("schedule 9: the commit that moves a run to its next execution is applied, and its process dies before the response", async () => {
  const harness = createChainHarness({ chainClaimsMax: 1 });
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  await harness.loseAttempt(
    agent,
    crashAfterCall(harness.world, "commit", ({ nextChain }) => nextChain),
  );
  expect(harness.row(run)).toMatchObject({ chain: 2, owner: null });
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "renew", chain: 2 });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 0 });
  expect(new Set(stagesOf(harness))).toEqual(new Set(["End ended"]));
});

test("schedule 15: attempt 1 of a park stores its token, and a zombie attempt 0 arrives with a dead one", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ effect: "unsafe" });
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  await harness.runAttempt(agent);
  const zombie = harness.startAttempt();
  const frozen = freezeBeforeCall(harness.world, "park");
  const parking = zombie.perform({ world: frozen.world, agent });
  zombie.end(null);
  await harness.runAttempt(agent);
  const { park } = harness.row(run);
  expect(park?.entry.retry).toBe(1);
  frozen.thaw();
  await parking;
  expect(harness.row(run).park).toEqual(park);
  expect(await happened(harness, run)).toEqual({ kind: "accepted" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
});

test("schedule 24: all attempts of a beat die; their successor is not refused because of the last one", async () => {
  const harness = createChainHarness(FEW);
  const keys: string[] = [];
  const agent = scriptedAgent({ run: ({ key }) => keys.push(key) });
  const { run } = await beginRun(harness.world, agent, {});
  for (let retry = 0; retry < ATTEMPTS; retry += 1) keys.push(await dieInTool(harness, agent));
  expect(stagesOf(harness)).toEqual(["Backoff waiting"]);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", chain: 2, takeovers: ATTEMPTS });
  expect(new Set(keys).size).toBe(1);
  expect(stagesOf(harness)).toEqual(["End ended", "End ended"]);
});

test("schedule 25: every beat dies before it claims; no death is counted, and the deadline ends the run", async () => {
  const harness = createChainHarness(FEW);
  const agent = withTakeovers(scriptedAgent({}), 2);
  const { run } = await beginRun(harness.world, agent, {});
  const { deadline } = harness.row(run);
  for (let tasks = 0; tasks < 60; tasks += 1) {
    const out = harness.startAttempt();
    out.end(out.task.kind === "beat" ? null : await out.perform({ world: harness.world, agent }));
    expect(harness.row(run)).toMatchObject({ status: "queued", deaths: 0, takeovers: 0, deadline });
  }
  expect(harness.row(run).chain).toBeGreaterThan(5);
  // A beat that could begin would warn first, and has the time of a warning for it (schedule 229).
  harness.clock.moveTo(deadline + harness.world.limits.idleRunMs / 10);
  await sweep(harness.world);
  expect(await show(harness.world, run)).toMatchObject({ status: "failed", failure: { code: "Expired" } });
});

test("schedule 26: every beat dies after its claim and renews the lease; a claim over the budget ends the run", async () => {
  const harness = createChainHarness({ overdueMs: 1 });
  const agent = withTakeovers(scriptedAgent({}), 1);
  const { run } = await beginRun(harness.world, agent, {});
  for (let retry = 0; retry < 2; retry += 1) {
    await harness.loseAttempt(agent, crashAfterCall(harness.world, "claim"));
    const held = harness.row(run);
    await sweep(harness.world);
    expect(harness.row(run)).toEqual(held);
  }
  const loaded: string[] = [];
  const agentOf = async (name: string) => {
    loaded.push(name);
    return { kind: "absent", why: "its bundle kills the process" } as const;
  };
  const runner = { ...runnerOf(harness.world, agent), agentOf };
  let quiet = 0;
  for (let beats = 0; !harness.row(run).endNotified && beats < 9; beats += 1) {
    const out = harness.startAttempt();
    quiet = Math.max(quiet, harness.row(run).leaseUntil ?? 0);
    const invocation = { deadline: harness.clock.now() + MS.beat, drain: new AbortController().signal };
    out.end(await runTask(runner)(out.task, invocation));
  }
  expect(loaded).toEqual([]);
  expect(harness.clock.now()).toBeGreaterThanOrEqual(quiet);
  expect(harness.row(run)).toMatchObject({ status: "failed", takeovers: 2 });
  expect(await show(harness.world, run)).toMatchObject({ failure: { code: "CrashLoop" } });
});

test("schedule 38: all attempts of a park die, then all attempts of the rescue; they are tried like a beat", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ effect: "unsafe" });
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  await harness.runAttempt(agent);
  for (const kind of ["park", "rescue"] as const) {
    for (let retry = 0; retry < ATTEMPTS; retry += 1) {
      const out = harness.startAttempt();
      expect(out.task.kind).toBe(kind);
      out.end(null);
    }
    expect(stagesOf(harness)).toEqual(["Backoff waiting"]);
  }
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "blocked", chain: 2 });
  expect(await happened(harness, run)).toEqual({ kind: "accepted" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", endNotified: true });
});

test("schedule 39: the hand-over of a rescue is applied and its process dies; the retry finds the successor", async () => {
  const harness = createChainHarness(FEW);
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  for (let retry = 0; retry < ATTEMPTS; retry += 1) await dieInTool(harness, agent);
  await harness.loseAttempt(agent, crashAfterCall(harness.world, "handOver"));
  expect(harness.row(run)).toMatchObject({ chain: 2, takeovers: ATTEMPTS });
  expect(stagesOf(harness)).toEqual(["Rescue due"]);
  expect(await harness.runAttempt(agent)).toEqual({ kind: "rescue", until: null });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", chain: 2, takeovers: ATTEMPTS });
});

test("schedule 45: a keyed call always outlives its timeout and ends its process; that is no crash loop", async () => {
  const harness = createChainHarness();
  const keys: string[] = [];
  const run = ({ key }: { readonly key: string }): Promise<never> => {
    keys.push(key);
    return neverSettles();
  };
  const agent = withTakeovers(scriptedAgent({ run, timeoutMs: 400 }), 1);
  const payload = await beginRun(harness.world, agent, {});
  let exits = 0;
  for (let count = 0; harness.world.chain.next() !== null && count < 20; count += 1) {
    const out = harness.startAttempt();
    const result = await harness.advanceUntilSettled(out.perform({ world: harness.world, agent }));
    if (result.kind === "exit") exits += 1;
    // Where a process cannot answer and end, nobody hears of it, and the retry finds what it committed.
    out.end(result.kind === "exit" ? null : result);
  }
  expect({ exits, keys: keys.length, differentKeys: new Set(keys).size }).toEqual({
    exits: 3,
    keys: 3,
    differentKeys: 1,
  });
  expect(harness.row(payload.run)).toMatchObject({ status: "completed", takeovers: 0 });
  expect(await ledger(harness.world, payload.run)).toMatchObject([{ status: "unknown", attempts: 3 }]);
});
