/** Schedule 236: another process holds the store, such as a client that was stopped in its commit. */
import type { ChildProcess } from "node:child_process";
import { expect, test } from "vitest";
import { HOLD_FROM_MS, HOLD_ON_MS } from "../../src/workers/wire.ts";
import { type TaskEnd, type Worker, give, hear, newWorker } from "../../src/workers/worker-process.ts";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { ledger, timeline } from "../../src/operations/views.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { PutOutcome } from "../../src/ports/object-store.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import type { Task, TaskResult } from "../../src/protocol/chain.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { runnerOf } from "../support/harness/drive.ts";
import { claimAndLoad, startKeyedRun, wrapTableCall } from "../support/harness/chain-steps.ts";
import {
  FINAL_REPLY,
  type Harness,
  type ScriptedAgentOptions,
  createChainHarness,
  neverSettles,
  scriptedAgent,
} from "../support/harness/harness.ts";
import { AT } from "../support/states/states-and-events.ts";

/** A world whose stores take no commit and no object while another process holds them. */
const heldWhile = (world: World, isHeld: () => boolean): World => ({
  ...tableHeldWhile(world, isHeld),
  objects: new Proxy(world.objects, {
    get: (objects, name, receiver) => {
      if (name !== "put") return Reflect.get(objects, name, receiver) as unknown;
      return async (...put: Parameters<World["objects"]["put"]>): Promise<PutOutcome> =>
        isHeld() ? { kind: "ambiguous", why: "process 7 holds it", isBusy: true } : objects.put(...put);
    },
  }),
});

const tableHeldWhile = (world: World, isHeld: () => boolean): World =>
  wrapTableCall(world, "commit", (commit) => async (asked) => {
    if (isHeld()) return { kind: "ambiguous", why: "process 7 holds it", isBusy: true };
    // The disk takes a while, as it does where many waited for the store.
    await new Promise<void>((resolve) => void world.clock.after(1_000, resolve));
    return commit(asked);
  });

/** Performs the attempt in a process that may hold on; `told` is what it says of that. */
async function attempt(harness: Harness, agent: Agent, { world, told }: { world: World; told: string[] }) {
  const out = harness.startAttempt();
  const deadline = harness.clock.now() + world.limits.beatMs;
  const holdOn = (why: string): boolean => {
    told.push(why);
    return deadline - harness.clock.now() < HOLD_FROM_MS;
  };
  const invocation = { deadline, drain: new AbortController().signal, holdOn };
  const perform = (task: Task): Promise<TaskResult> => runTask(runnerOf(world, agent))(task, invocation);
  const result = await harness.advanceUntilSettled(perform(out.task)).catch((error: unknown) => error as Error);
  harness.world.chain.end(out.name, out.attempt, result instanceof Error || result.kind === "exit" ? null : result);
  return { result, deadline };
}

const mailing = (run: ScriptedAgentOptions["run"], calls = 1): { agent: Agent; replies: () => number } => {
  let replies = 0;
  const reply: ScriptedAgentOptions["reply"] = ({ calls: made }) => {
    replies += 1;
    return made.length === 0
      ? { calls: Array.from({ length: calls }, () => ({ tool: "act", args: {} })) }
      : FINAL_REPLY;
  };
  const agent = scriptedAgent({ effect: "unsafe", reply, timeoutMs: 400, ...(run !== undefined && { run }) });
  return { agent, replies: () => replies };
};

/** A supervisor with a worker that has one task of a beat of three seconds. */
function supervising() {
  const clock = virtualClock(AT);
  const held: string[] = [];
  const child = { send: () => true } as unknown as ChildProcess;
  const worker: Worker = { ...newWorker(child, { pid: 2 ** 30, startedAt: "" }), agent: "clerk", isReady: true };
  const options = {
    ...{ worker: { module: "", args: [], execArgv: [], env: {} }, beatMs: 3_000, clock, counted: () => clock.now() },
    ...{ onSpawned: () => {}, onGone: () => {}, onRoom: () => {}, onHeld: (why: string) => void held.push(why) },
  };
  give(worker, { work: { task: { kind: "sweep" }, onEnd: () => {} }, secret: "s", options });
  const holdsOn = (): void =>
    hear(worker, { message: { kind: "holdsOn", secret: "s", why: "process 7 holds it" }, options });
  return { worker, held, holdsOn, options, wait: (ms: number) => clock.moveTo(clock.now() + ms) };
}

/** A beat whose deadline was moved begins no call, however short its timeout is and whatever is left of its own time. */
async function beginsNothingMore(isMovedFirst: boolean): Promise<void> {
  const harness = createChainHarness();
  let [isMoved, acted] = [false, 0];
  const { agent } = mailing(() => (acted += 1));
  await startKeyedRun(harness.world, { agent, key: "k" });
  const limits = { ...harness.world.limits, beatMs: 6_000, drainMs: 100 };
  const deadline = harness.clock.now() + limits.beatMs;
  const leftMs = (): number => deadline - harness.clock.now();
  const isHeld = (): boolean => (isMovedFirst ? !isMoved : leftMs() > HOLD_FROM_MS + 1_900);
  const push = (): number => Number((isMoved ||= leftMs() < HOLD_FROM_MS));
  const told = Object.assign([] as string[], { push });
  const busy = { kind: "ambiguous", why: "process 7 holds it", isBusy: true } as const;
  const world = wrapTableCall(
    { ...harness.world, limits },
    "commit",
    (commit) => async (asked) => (isHeld() ? busy : commit(asked)),
  );
  await attempt(harness, agent, { world, told });
  expect({ isMoved, acted }).toEqual({ isMoved: isMovedFirst, acted: isMovedFirst ? 0 : 1 });
  await harness.runUntilIdle(agent);
  expect(acted).toBe(1);
}

/**
 * A reply is kept in the last seconds of a beat, which holds on for that. Code of the author that is asked then has no
 * time: without an answer of its rule, a human is asked about the call.
 */
async function asksNobodyMore(): Promise<void> {
  const harness = createChainHarness();
  let isMoved = false;
  const slowly = async <T>(value: T): Promise<T> => {
    await new Promise<void>((resolve) => void harness.clock.after(100, resolve));
    return value;
  };
  const calling = { calls: [{ tool: "act", args: { note: "x".repeat(SIZES.inlineBytesMax + 1) } }] };
  const agent = scriptedAgent({
    reply: ({ calls }) => (calls.length === 0 ? calling : FINAL_REPLY),
    approval: () => slowly(false),
  });
  const { run } = await startKeyedRun(harness.world, { agent, key: "k" });
  const deadline = harness.clock.now() + harness.world.limits.beatMs;
  const push = (): number => Number((isMoved ||= deadline - harness.clock.now() < HOLD_FROM_MS));
  const world = { ...harness.world, objects: heldWhile(harness.world, () => !isMoved).objects };
  await attempt(harness, agent, { world, told: Object.assign([] as string[], { push }) });
  await harness.runUntilIdle(agent);
  const kinds = ((await timeline(harness.world, { run, after: 0 })) ?? []).map(({ kind }) => kind);
  expect(isMoved).toBe(true);
  expect(kinds).not.toContain("ApprovalRequested");
  expect(harness.row(run).status).toBe("completed");
}

test("schedule 236: a client holds the store when the commit of a call is due, and its beat outlives its deadline for that commit alone", async () => {
  // The beat outlives its deadline for that commit, releases the run, and begins nothing more; the table alone, or all.
  for (const storesHeldWhile of [tableHeldWhile, heldWhile]) {
    const harness = createChainHarness();
    const told: string[] = [];
    let heldUntil = 0;
    let acted = 0;
    const { agent, replies } = mailing(() => {
      acted += 1;
      heldUntil = harness.clock.now() + 3 * harness.world.limits.beatMs;
      return "sent";
    });
    const { run } = await startKeyedRun(harness.world, { agent, key: "k" });
    const world = storesHeldWhile(harness.world, () => harness.clock.now() < heldUntil);
    const { result, deadline } = await attempt(harness, agent, { world, told });
    expect(harness.clock.now()).toBeGreaterThan(deadline);
    expect(result).toMatchObject({ kind: "beat", reply: { route: "beat" } });
    expect(harness.row(run)).toMatchObject({ owner: null });
    expect(told.length).toBeGreaterThan(1);
    expect(new Set(told)).toEqual(new Set(["process 7 holds it"]));
    // The reply that follows the call is one for another beat.
    expect({ acted, replies: replies() }).toEqual({ acted: 1, replies: 1 });
    await harness.runUntilIdle(agent);
    expect({ acted, replies: replies(), status: harness.row(run).status }).toEqual({
      acted: 1,
      replies: 2,
      status: "completed",
    });
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "succeeded", attempts: 1 }]);
  }
  // Says so at least every few seconds, since it is ended where it does not.
  {
    const harness = createChainHarness();
    const at: number[] = [];
    let heldUntil = 0;
    const { agent } = mailing(() => {
      heldUntil = harness.clock.now() + 3 * harness.world.limits.beatMs;
      return "sent";
    });
    await startKeyedRun(harness.world, { agent, key: "k" });
    const world = heldWhile(harness.world, () => harness.clock.now() < heldUntil);
    const told = Object.assign([] as string[], { push: () => at.push(harness.clock.now()) });
    await attempt(harness, agent, { world, told });
    const gaps = at.slice(1).map((moment, index) => moment - (at[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(HOLD_ON_MS / 2);
  }
  for (const isMovedFirst of [true, false]) await beginsNothingMore(isMovedFirst);
  await asksNobodyMore();
  // A beat with a call under way does not hold on, and its time is that of any beat.
  {
    const harness = createChainHarness();
    const told: string[] = [];
    let isHeld = false;
    let count = 0;
    const { agent } = mailing(() => {
      count += 1;
      if (count === 2) return neverSettles();
      isHeld = true;
      return "sent";
    }, 2);
    await startKeyedRun(harness.world, { agent, key: "k" });
    const { result } = await attempt(harness, agent, { world: heldWhile(harness.world, () => isHeld), told });
    expect(result).toBeInstanceOf(Error);
    expect(told).toEqual([]);
  }
  // A beat that lost its run meanwhile commits nothing.
  {
    const harness = createChainHarness();
    let isHeld = false;
    const { agent } = mailing(() => {
      isHeld = true;
      return "sent";
    });
    const { run, born, chain } = await startKeyedRun(harness.world, { agent, key: "k" });
    const payload = { run, born, chain, epoch: 0, agent: agent.name };
    const claims: Promise<unknown>[] = [];
    const push = (): number => claims.push(claimAndLoad(harness, { payload, retry: 1, restart: 0 }));
    const world = heldWhile(harness.world, () => isHeld && claims.length === 0);
    const told = Object.assign([] as string[], { push });
    const { result } = await attempt(harness, agent, { world, told });
    await Promise.all(claims);
    expect(claims).toHaveLength(1);
    expect(result).toMatchObject({ reply: { route: "superseded" } });
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "started" }]);
  }
  // A supervisor spares a worker as long as it says that it holds on, and not longer.
  {
    const { worker, held, holdsOn, wait } = supervising();
    for (let count = 0; count < 10; count += 1) {
      wait(2_500);
      holdsOn();
    }
    expect(worker.leaving).toBeNull();
    expect(held).toHaveLength(10);
    wait(HOLD_ON_MS);
    expect(worker.leaving).toEqual({ how: "killed at its deadline" });
  }
});

test("schedule 249: a beat that could not claim its run ends alone, beside a beat that waits for its commit", () => {
  const { worker, holdsOn, options, wait } = supervising();
  const ends: TaskEnd[] = [];
  const onEnd = (end: TaskEnd): void => void ends.push(end);
  give(worker, { work: { task: { kind: "sweep" }, onEnd }, secret: "other", options });
  wait(2_500);
  holdsOn();
  const error = { name: "Undecided", code: "StoreUnreachable", message: "process 7 holds it" };
  const failed = { kind: "failed", secret: "other", error, isHeavy: false } as const;
  hear(worker, { message: { ...failed, isOver: true }, options });
  expect(ends).toEqual([{ kind: "failed", how: "the task threw", error, hasDied: false }]);
  // The deadline of that beat has passed, and the process is not replaced.
  wait(1_000);
  holdsOn();
  expect({ leaving: worker.leaving, closing: worker.closing, tasks: worker.tasks.size }).toEqual({
    leaving: null,
    closing: null,
    tasks: 1,
  });
  // After any other error something may be left in the process, which is replaced within the time of its task.
  give(worker, { work: { task: { kind: "sweep" }, onEnd }, secret: "other", options });
  hear(worker, { message: { ...failed, isOver: false }, options });
  expect({ closing: worker.closing, ends: ends.length }).toEqual({ closing: { how: "the task threw" }, ends: 1 });
  wait(3_000);
  expect(worker.leaving).toEqual({ how: "killed at its deadline" });
});

test("schedule 250: each task of a run that waits for a held store ends in its time, in whichever access it waits", async () => {
  const payload = { run: "local-a", born: "b", chain: 1, epoch: 0, agent: "clerk" };
  const attempt = { execution: "e", state: "s", retry: 0, restart: 0 } as never;
  const tasks: readonly Task[] = [
    { kind: "park", payload, attempt, token: "t" },
    { kind: "renew", payload },
    { kind: "rescue", payload },
  ] as never;
  for (const task of tasks) {
    const harness = createChainHarness();
    const begun = harness.clock.now();
    await startKeyedRun(harness.world, { agent: scriptedAgent({}), key: "k" });
    const silent = <Port extends object>(port: Port): Port =>
      new Proxy(port, { get: () => () => new Promise(() => {}) }) as Port;
    const { table, chain, leases, inbox } = harness.world;
    const ports = { table: silent(table), chain: silent(chain), leases: silent(leases), inbox: silent(inbox) };
    const deadline = begun + harness.world.limits.beatMs;
    const invocation = { deadline, drain: new AbortController().signal, holdOn: () => false };
    const world = { ...harness.world, ...ports };
    const done = runTask(runnerOf(world, scriptedAgent({})))(task, invocation);
    const outcome = await harness.advanceUntilSettled(done).catch((error: unknown) => error);
    expect({
      kind: task.kind,
      isStoreUnreachable: outcome instanceof StoreUnreachable,
      isBeforeDeadline: harness.clock.now() < deadline,
    }).toEqual({
      kind: task.kind,
      isStoreUnreachable: true,
      isBeforeDeadline: true,
    });
  }
});
