/** Continue-as-new: a run moves to the next execution before the history limit, and no crash strands it in between. */
import { describe, expect, test } from "vitest";
import type { Payload, TaskResult } from "../../src/protocol/chain.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import type { World } from "../../src/ports/world.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { ledger, show } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { type DecisionCalls, withCalls } from "../../src/testing/decisions.ts";
import { crashAtCall, forEachCrashPoint } from "../support/faults/crash-at-call.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import {
  FINAL_REPLY,
  beatReply,
  callsThenFinal,
  neverSettles,
  scriptedAgent,
  type Harness,
  createSupervisedHarness,
  executionNameOf,
} from "../support/harness/harness.ts";

/** A run whose first beat moves it to the next execution, with further calls after that. */
async function renewing(harness: Harness, part: Parameters<typeof scriptedAgent>[0] = { reply: callsThenFinal(2) }) {
  const agent = scriptedAgent(part);
  const payload = await beginRun(harness.world, agent, {});
  return { agent, payload, run: payload.run, runner: runnerOf(harness.world, agent) };
}

const once = (change = {}): Harness => createSupervisedHarness({ chainClaimsMax: 1, ...change });

const renew = (harness: Harness, payload: Payload, world: World = harness.world): Promise<TaskResult> =>
  runTask(runnerOf(world, scriptedAgent({})))({ kind: "renew", payload }, harness.invocation());

const executions = (harness: Harness): readonly string[] => [...harness.world.chain.executions.keys()];

describe("after as many claims as an execution may have", () => {
  test("the commit of the last beat names the next one and the next epoch, and the run continues there", async () => {
    const harness = createSupervisedHarness({ chainClaimsMax: 3 });
    const { agent, payload, run } = await renewing(harness, { reply: callsThenFinal(7) });
    const runner = runnerOf(harness.world, agent);
    const third = await drive(runner, payload);
    expect(third).toMatchObject({ route: "renew", chain: 2, epoch: 4 });
    expect(harness.row(run)).toMatchObject({
      chain: 2,
      epoch: 4,
      chainClaims: 0,
      owner: null,
      takeovers: 0,
      version: 6,
    });
    const moved: number[] = [];
    const last = await harness.driveUntil({
      agent,
      run,
      until: (row) => {
        if (row.chain !== moved.at(-1)) moved.push(row.chain);
        return row.endNotified;
      },
    });
    // Eight beats, three per execution; each continue-as-new has an epoch of its own.
    expect(moved).toEqual([2, 3]);
    expect(last).toMatchObject({ status: "completed", chain: 3, epoch: 8 + 2, takeovers: 0 });
    expect(await ledger(harness.world, run)).toHaveLength(7);
    expect([...harness.world.chain.executions.values()].map(({ name, stage }) => ({ name, stage }))).toEqual([
      { name: executionNameOf({ ...payload, chain: 1 }), stage: "ended" },
      { name: executionNameOf({ ...payload, chain: 2 }), stage: "ended" },
      { name: executionNameOf({ ...payload, chain: 3 }), stage: "ended" },
    ]);
  });

  test("an end starts no further execution", async () => {
    const harness = once();
    const { payload, run, runner } = await renewing(harness, { reply: () => FINAL_REPLY });
    expect(await drive(runner, payload)).toMatchObject({ route: "done", chain: 1 });
    expect(harness.row(run)).toMatchObject({ status: "completed", chain: 1, endNotified: true });
  });

  test("a beat that dies moves nothing: its retry moves the run", async () => {
    const harness = once();
    const { agent, payload, run } = await renewing(harness, { effect: "keyed", reply: callsThenFinal(1) });
    const isStuck = { ...harness.world, table: withCalls(harness.world.table, { commit: neverSettles }) };
    void attemptBeat(runnerOf(isStuck, agent), payload);
    await expect.poll(() => harness.row(run).owner).not.toBe(null);
    expect(await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1))).toMatchObject({
      route: "renew",
      chain: 2,
    });
    expect(harness.row(run)).toMatchObject({ chain: 2, chainClaims: 0 });
  });
});

describe("the commit that moves a run to the next execution", () => {
  test("is recognised after a lost response although it raised the epoch", async () => {
    const harness = once();
    const { agent, payload, run } = await renewing(harness);
    let sent = 0;
    const commit: DecisionCalls["commit"] = async (of) => {
      const outcome = await harness.world.table.decide(of, COMMIT);
      if (!of.nextChain) return outcome;
      sent += 1;
      return sent === 1 ? { kind: "ambiguous", why: "timeout" } : outcome;
    };
    const world = { ...harness.world, table: withCalls(harness.world.table, { commit }) };
    expect(await beatReply(attemptBeat(runnerOf(world, agent), payload))).toMatchObject({
      route: "renew",
      chain: 2,
      epoch: 2,
    });
    expect({ sent, chain: harness.row(run).chain, version: harness.row(run).version }).toEqual({
      sent: 2,
      chain: 2,
      version: 2,
    });
  });

  test("leaves its process fenced when the response is lost until the successor has claimed", async () => {
    const harness = once();
    const { agent, payload, run } = await renewing(harness);
    let isFirst = true;
    const commit: DecisionCalls["commit"] = async (of) => {
      const outcome = await harness.world.table.decide(of, COMMIT);
      if (!of.nextChain || !isFirst) return outcome;
      isFirst = false;
      const { chain, epoch } = harness.row(run);
      await attemptBeat(runnerOf(harness.world, agent), { ...payload, chain, epoch });
      return { kind: "ambiguous", why: "timeout" };
    };
    const world = { ...harness.world, table: withCalls(harness.world.table, { commit }) };
    expect(await beatReply(attemptBeat(runnerOf(world, agent), payload))).toMatchObject({ route: "superseded" });
  });

  test("schedule 9: is found by the retry after a crash, which starts the successor", async () => {
    const harness = once();
    const { agent, payload, run } = await renewing(harness);
    const commit: DecisionCalls["commit"] = async (of) => {
      const outcome = await harness.world.table.decide(of, COMMIT);
      return of.nextChain ? neverSettles() : outcome;
    };
    void attemptBeat(runnerOf({ ...harness.world, table: withCalls(harness.world.table, { commit }) }, agent), payload);
    await expect.poll(() => harness.row(run).chain).toBe(2);
    const before = harness.row(run);
    const reply = await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1));
    expect(reply).toMatchObject({ route: "renew", chain: 2, epoch: before.epoch });
    expect(harness.row(run)).toEqual(before);
    await renew(harness, reply);
    expect(executions(harness)).toEqual([1, 2].map((chain) => executionNameOf({ ...payload, chain })));
  });

  test("leaves one execution after another driving the run to its end, whatever dies around it", async () => {
    const crashes = await forEachCrashPoint(async (crash) => {
      const harness = once();
      const { agent, run, payload } = await renewing(harness, { effect: "keyed", reply: callsThenFinal(1) });
      const isAlive = await crashAtCall(harness.world, crash).survives(async (world) => {
        const perform = runTask(runnerOf(world, agent));
        const name = executionNameOf(payload);
        for (let step = 0; step < 2; step += 1) {
          const { task, attempt } = harness.world.chain.begin(name);
          const answer = await perform(task, harness.invocation());
          harness.world.chain.end(name, attempt, answer.kind === "exit" ? null : answer);
        }
      });
      const { attempt: out, stage } = harness.world.chain.executions.get(executionNameOf(payload)) ?? {};
      if (stage === "trying") harness.world.chain.end(executionNameOf(payload), out ?? 0, null);
      const ended = await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified });
      expect(ended).toMatchObject({ status: "completed" });
      expect(await ledger(harness.world, run)).toHaveLength(1);
      // No other execution was ever started, and none is left.
      expect(executions(harness)).toEqual(
        [1, 2].slice(0, ended.chain).map((chain) => executionNameOf({ ...payload, chain })),
      );
      expect([...harness.world.chain.executions.values()].every(({ stage: each }) => each === "ended")).toBe(true);
      return isAlive;
    });
    expect(crashes).toBeGreaterThanOrEqual(14);
  });
});

describe("starting the next execution", () => {
  async function moved(harness: Harness) {
    const { agent, payload, run, runner } = await renewing(harness);
    const reply = await beatReply(attemptBeat(runner, payload));
    harness.stopExecution(payload);
    return { agent, payload, run, reply };
  }

  test("twice starts it once", async () => {
    const harness = once();
    const { payload, run, reply } = await moved(harness);
    await renew(harness, reply);
    const before = harness.row(run);
    await renew(harness, reply);
    expect(executions(harness)).toEqual([1, 2].map((chain) => executionNameOf({ ...payload, chain })));
    expect(harness.row(run)).toEqual(before);
  });

  test("late starts nothing when the run has moved on, has ended or is another incarnation", async () => {
    const later: readonly ((harness: Harness, run: string) => void)[] = [
      (harness, run) => harness.changeRow({ run }, { chain: 3 }),
      (harness, run) => harness.changeRow({ run }, { status: "completed", phase: "Completed" }),
      (harness, run) => harness.changeRow({ run }, { born: "zzzzzzzzzz" }),
      (harness, run) => void harness.world.store.rows.delete(run),
    ];
    for (const happens of later) {
      const harness = once();
      const { payload, run, reply } = await moved(harness);
      happens(harness, run);
      expect(await renew(harness, reply)).toEqual({ kind: "renew" });
      expect(executions(harness)).toEqual([executionNameOf(payload)]);
    }
  });

  test("of a run whose successor has ended hands it over to the one after that", async () => {
    const harness = once();
    const { run, reply, agent } = await moved(harness);
    await renew(harness, reply);
    harness.stopExecution(harness.row(run));
    await renew(harness, reply);
    expect(harness.row(run)).toMatchObject({ chain: 3, takeovers: 0 });
    expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
      status: "completed",
    });
  });

  test("is done by the sweeper when the process died before it", async () => {
    const harness = once();
    const { agent, run } = await moved(harness);
    await harness.sweep();
    // The process may be about to start it.
    expect(executions(harness)).toHaveLength(1);
    harness.passTime();
    await harness.sweep();
    expect(harness.row(run)).toMatchObject({ chain: 2, takeovers: 0 });
    expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
      status: "completed",
    });
  });
});

describe("a last beat that would", () => {
  test("wait lets the run wait in the next execution until the same moment", async () => {
    const harness = once();
    const busy = { message: "busy", url: "u", requestBodyValues: {}, statusCode: 503, isRetryable: true };
    const { APICallError } = await import("@ai-sdk/provider");
    const asked: number[] = [];
    const reply = () => {
      asked.push(harness.clock.now());
      if (asked.length === 1) throw new APICallError({ ...busy, responseHeaders: { "retry-after": "30" } });
      return FINAL_REPLY;
    };
    const { agent, payload, run } = await renewing(harness, { reply });
    const first = await beatReply(attemptBeat(runnerOf(harness.world, agent), payload));
    expect(first).toMatchObject({ route: "renew", chain: 2, seconds: 1 });
    const { wakeAt } = harness.row(run);
    const second = await beatReply(attemptBeat(runnerOf(harness.world, agent), first));
    expect(asked).toHaveLength(1);
    // This execution may have only one claim, too.
    expect(second).toMatchObject({ route: "renew", chain: 3 });
    harness.clock.moveTo(wakeAt ?? 0);
    await drive(runnerOf(harness.world, agent), second);
    expect(asked[1]).toBe(wakeAt);
  });

  test("park parks the run in the next execution, where it is woken", async () => {
    const harness = createSupervisedHarness({ chainClaimsMax: 2 });
    const { agent, run, payload } = await renewing(harness, { reply: callsThenFinal(1) });
    await attemptBeat(runnerOf(harness.world, agent), payload);
    harness.stopExecution(payload);
    await sendRequest(harness.world, { run, want: "pause" });
    const { epoch } = harness.row(run);
    const reply = await beatReply(attemptBeat(runnerOf(harness.world, agent), { ...payload, epoch }));
    expect(reply).toMatchObject({ route: "renew", chain: 2 });
    expect(await show(harness.world, run)).toMatchObject({ status: "paused" });
    await renew(harness, reply);
    const parked = await harness.driveUntil({ agent, run, until: ({ park }) => park !== null });
    expect(parked).toMatchObject({ chain: 2, status: "paused", chainClaims: 1 });
    await sendRequest(harness.world, { run, want: "resume" });
    expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
      status: "completed",
      chain: 2,
    });
  });

  test("end its process returns the next route and keeps effectsSettleAt, and its retry finds the same", async () => {
    const harness = once();
    const { agent, payload, run } = await renewing(harness, {
      effect: "unsafe",
      run: neverSettles,
      timeoutMs: 100,
      reply: callsThenFinal(1),
    });
    const ended = await harness.advanceUntilSettled(attemptBeat(runnerOf(harness.world, agent), payload));
    expect(ended).toMatchObject({ kind: "exit", reply: { route: "renew", chain: 2 } });
    const row = harness.row(run);
    expect(row).toMatchObject({ chain: 2, owner: null, takeovers: 0, status: "blocked" });
    expect(row.effectsSettleAt).toBeGreaterThan(harness.clock.now());
    // If a process cannot reply and end, the same entry gets another attempt.
    const again = await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1));
    expect(again).toMatchObject({ route: "renew", chain: 2, epoch: row.epoch });
    expect(harness.row(run)).toEqual(row);
  });
});
