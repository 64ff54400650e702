/** Continue-as-new: a run moves to the next execution before the history limit, and no crash strands it in between. */
import { describe, expect, test } from "vitest";
import type { Conversation } from "../../src/index.ts";
import type { Payload, TaskResult } from "../../src/protocol/chain.ts";
import type { World } from "../../src/ports/world.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { ledger, show } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { dying, everyCrash } from "../support/crashing.ts";
import { attempt, begin, drive, runnerOf } from "../support/drive.ts";
import {
  type Room,
  change,
  close,
  invocation,
  isTold,
  nameOf,
  room,
  supervise,
  sweep,
  wait,
} from "../support/supervise.ts";
import { OVER, actor, callsThenOver, never, passing, replyOf, rowOf } from "../support/stage.ts";

/** A run whose first beat moves it to the next execution, with further calls after that. */
async function renewing(on: Room, part: Parameters<typeof actor>[0] = { reply: callsThenOver(2) }) {
  const agent = actor(part);
  const payload = await begin(on.world, agent, {});
  return { agent, payload, run: payload.run, runner: runnerOf(on.world, agent) };
}

const once = (change = {}): Room => room({ chainClaimsMax: 1, ...change });

const renew = (on: Room, payload: Payload, world: World = on.world): Promise<TaskResult> =>
  runTask(runnerOf(world, actor({})))({ kind: "renew", payload }, invocation(on));

const executions = (on: Room): readonly string[] => [...on.world.chain.executions.keys()];

describe("after as many claims as an execution may have", () => {
  test("the commit of the last beat names the next one and the next epoch, and the run continues there", async () => {
    const on = room({ chainClaimsMax: 3 });
    const { agent, payload, run } = await renewing(on, { reply: callsThenOver(7) });
    const runner = runnerOf(on.world, agent);
    const third = await drive(runner, payload);
    expect(third).toMatchObject({ route: "renew", chain: 2, epoch: 4 });
    expect(rowOf(on, run)).toMatchObject({ chain: 2, epoch: 4, chainClaims: 0, owner: null, takeovers: 0, version: 6 });
    const moved: number[] = [];
    const last = await supervise(on, {
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
    expect(await ledger(on.world, run)).toHaveLength(7);
    expect([...on.world.chain.executions.values()].map(({ name, stage }) => [name, stage])).toEqual([
      [nameOf({ ...payload, chain: 1 }), "ended"],
      [nameOf({ ...payload, chain: 2 }), "ended"],
      [nameOf({ ...payload, chain: 3 }), "ended"],
    ]);
  });

  test("an end starts no further execution", async () => {
    const on = once();
    const { payload, run, runner } = await renewing(on, { reply: () => OVER });
    expect(await drive(runner, payload)).toMatchObject({ route: "done", chain: 1 });
    expect(rowOf(on, run)).toMatchObject({ status: "completed", chain: 1, endNotified: true });
  });

  test("a beat that dies moves nothing: its retry moves the run", async () => {
    const on = once();
    const { agent, payload, run } = await renewing(on, { effect: "keyed", reply: callsThenOver(1) });
    const isStuck = { ...on.world, table: { ...on.world.table, commit: never } };
    void attempt(runnerOf(isStuck, agent), payload);
    await expect.poll(() => rowOf(on, run).owner).not.toBe(null);
    expect(await replyOf(attempt(runnerOf(on.world, agent), payload, 1))).toMatchObject({ route: "renew", chain: 2 });
    expect(rowOf(on, run)).toMatchObject({ chain: 2, chainClaims: 0 });
  });
});

describe("the commit that moves a run to the next execution", () => {
  test("is recognised after a lost response although it raised the epoch", async () => {
    const on = once();
    const { agent, payload, run } = await renewing(on);
    let sent = 0;
    const commit: World["table"]["commit"] = async (of) => {
      const outcome = await on.world.table.commit(of);
      if (!of.nextChain) return outcome;
      sent += 1;
      return sent === 1 ? { kind: "ambiguous", why: "timeout" } : outcome;
    };
    const world = { ...on.world, table: { ...on.world.table, commit } };
    expect(await replyOf(attempt(runnerOf(world, agent), payload))).toMatchObject({
      route: "renew",
      chain: 2,
      epoch: 2,
    });
    expect([sent, rowOf(on, run).chain, rowOf(on, run).version]).toEqual([2, 2, 2]);
  });

  test("leaves its process fenced when the response is lost until the successor has claimed", async () => {
    const on = once();
    const { agent, payload, run } = await renewing(on);
    let isFirst = true;
    const commit: World["table"]["commit"] = async (of) => {
      const outcome = await on.world.table.commit(of);
      if (!of.nextChain || !isFirst) return outcome;
      isFirst = false;
      const { chain, epoch } = rowOf(on, run);
      await attempt(runnerOf(on.world, agent), { ...payload, chain, epoch });
      return { kind: "ambiguous", why: "timeout" };
    };
    const world = { ...on.world, table: { ...on.world.table, commit } };
    expect(await replyOf(attempt(runnerOf(world, agent), payload))).toMatchObject({ route: "superseded" });
  });

  test("schedule 9: is found by the retry after a crash, which starts the successor", async () => {
    const on = once();
    const { agent, payload, run } = await renewing(on);
    const commit: World["table"]["commit"] = async (of) => {
      const outcome = await on.world.table.commit(of);
      return of.nextChain ? never() : outcome;
    };
    void attempt(runnerOf({ ...on.world, table: { ...on.world.table, commit } }, agent), payload);
    await expect.poll(() => rowOf(on, run).chain).toBe(2);
    const before = rowOf(on, run);
    const reply = await replyOf(attempt(runnerOf(on.world, agent), payload, 1));
    expect(reply).toMatchObject({ route: "renew", chain: 2, epoch: before.epoch });
    expect(rowOf(on, run)).toEqual(before);
    await renew(on, reply);
    expect(executions(on)).toEqual([1, 2].map((chain) => nameOf({ ...payload, chain })));
  });

  test("leaves one execution after another driving the run to its end, whatever dies around it", async () => {
    const crashes = await everyCrash(async (crash) => {
      const on = once();
      const { agent, run, payload } = await renewing(on, { effect: "keyed", reply: callsThenOver(1) });
      const isAlive = await dying(on.world, crash).survives(async (world) => {
        const perform = runTask(runnerOf(world, agent));
        const name = nameOf(payload);
        for (let step = 0; step < 2; step += 1) {
          const { task, attempt } = on.world.chain.begin(name);
          const answer = await perform(task, invocation(on));
          on.world.chain.end(name, attempt, answer.kind === "exit" ? null : answer);
        }
      });
      const { attempt: out, stage } = on.world.chain.executions.get(nameOf(payload)) ?? {};
      if (stage === "trying") on.world.chain.end(nameOf(payload), out ?? 0, null);
      const ended = await supervise(on, { agent, run, until: isTold });
      expect(ended).toMatchObject({ status: "completed" });
      expect(await ledger(on.world, run)).toHaveLength(1);
      // No other execution was ever started, and none is left.
      expect(executions(on)).toEqual([1, 2].slice(0, ended.chain).map((chain) => nameOf({ ...payload, chain })));
      expect([...on.world.chain.executions.values()].every(({ stage: each }) => each === "ended")).toBe(true);
      return isAlive;
    });
    expect(crashes).toBeGreaterThanOrEqual(14);
  });
});

describe("starting the next execution", () => {
  async function moved(on: Room) {
    const { agent, payload, run, runner } = await renewing(on);
    const reply = await replyOf(attempt(runner, payload));
    close(on, payload);
    return { agent, payload, run, reply };
  }

  test("twice starts it once", async () => {
    const on = once();
    const { payload, run, reply } = await moved(on);
    await renew(on, reply);
    const before = rowOf(on, run);
    await renew(on, reply);
    expect(executions(on)).toEqual([1, 2].map((chain) => nameOf({ ...payload, chain })));
    expect(rowOf(on, run)).toEqual(before);
  });

  test("late starts nothing when the run has moved on, has ended or is another incarnation", async () => {
    const later: readonly ((on: Room, run: string) => void)[] = [
      (on, run) => change(on, { run }, { chain: 3 }),
      (on, run) => change(on, { run }, { status: "completed", phase: "Completed" }),
      (on, run) => change(on, { run }, { born: "zzzzzzzzzz" }),
      (on, run) => void on.world.store.rows.delete(run),
    ];
    for (const happens of later) {
      const on = once();
      const { payload, run, reply } = await moved(on);
      happens(on, run);
      expect(await renew(on, reply)).toEqual({ kind: "renew" });
      expect(executions(on)).toEqual([nameOf(payload)]);
    }
  });

  test("of a run whose successor has ended hands it over to the one after that", async () => {
    const on = once();
    const { run, reply, agent } = await moved(on);
    await renew(on, reply);
    close(on, rowOf(on, run));
    await renew(on, reply);
    expect(rowOf(on, run)).toMatchObject({ chain: 3, takeovers: 0 });
    expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed" });
  });

  test("is done by the sweeper when the process died before it", async () => {
    const on = once();
    const { agent, run } = await moved(on);
    await sweep(on);
    // The process may be about to start it.
    expect(executions(on)).toHaveLength(1);
    wait(on);
    await sweep(on);
    expect(rowOf(on, run)).toMatchObject({ chain: 2, takeovers: 0 });
    expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed" });
  });
});

describe("a last beat that would", () => {
  test("wait lets the run wait in the next execution until the same moment", async () => {
    const on = once();
    const busy = { message: "busy", url: "u", requestBodyValues: {}, statusCode: 503, isRetryable: true };
    const { APICallError } = await import("@ai-sdk/provider");
    const asked: number[] = [];
    const reply = () => {
      asked.push(on.clock.now());
      if (asked.length === 1) throw new APICallError({ ...busy, responseHeaders: { "retry-after": "30" } });
      return OVER;
    };
    const { agent, payload, run } = await renewing(on, { reply });
    const first = await replyOf(attempt(runnerOf(on.world, agent), payload));
    expect(first).toMatchObject({ route: "renew", chain: 2, seconds: 1 });
    const { wakeAt } = rowOf(on, run);
    const second = await replyOf(attempt(runnerOf(on.world, agent), first));
    expect(asked).toHaveLength(1);
    // This execution may have only one claim, too.
    expect(second).toMatchObject({ route: "renew", chain: 3 });
    on.clock.moveTo(wakeAt ?? 0);
    await drive(runnerOf(on.world, agent), second);
    expect(asked[1]).toBe(wakeAt);
  });

  test("park parks the run in the next execution, where it is woken", async () => {
    const on = room({ chainClaimsMax: 2 });
    const { agent, run, payload } = await renewing(on, { reply: callsThenOver(1) });
    await attempt(runnerOf(on.world, agent), payload);
    close(on, payload);
    await sendRequest(on.world, { run, want: "pause" });
    const { epoch } = rowOf(on, run);
    const reply = await replyOf(attempt(runnerOf(on.world, agent), { ...payload, epoch }));
    expect(reply).toMatchObject({ route: "renew", chain: 2 });
    expect(await show(on.world, run)).toMatchObject({ status: "paused" });
    await renew(on, reply);
    const parked = await supervise(on, { agent, run, until: ({ park }) => park !== null });
    expect(parked).toMatchObject({ chain: 2, status: "paused", chainClaims: 1 });
    await sendRequest(on.world, { run, want: "resume" });
    expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed", chain: 2 });
  });

  test("end its process returns the next route and keeps effectsSettleAt, and its retry finds the same", async () => {
    const on = once();
    const { agent, payload, run } = await renewing(on, {
      effect: "unsafe",
      run: never,
      timeoutMs: 100,
      reply: (conversation: Conversation) => callsThenOver(1)(conversation),
    });
    const ended = await passing(on, attempt(runnerOf(on.world, agent), payload));
    expect(ended).toMatchObject({ kind: "exit", reply: { route: "renew", chain: 2 } });
    const row = rowOf(on, run);
    expect(row).toMatchObject({ chain: 2, owner: null, takeovers: 0, status: "blocked" });
    expect(row.effectsSettleAt).toBeGreaterThan(on.clock.now());
    // If a process cannot reply and end, the same entry gets another attempt.
    const again = await replyOf(attempt(runnerOf(on.world, agent), payload, 1));
    expect(again).toMatchObject({ route: "renew", chain: 2, epoch: row.epoch });
    expect(rowOf(on, run)).toEqual(row);
  });
});
