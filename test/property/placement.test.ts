/**
 * More agents than places: whatever the numbers of agents, runs and places, the times of starts and beats, and the
 * deaths, every run is served, no supervisor gives up, and processes are started for tasks and by turns only.
 */
import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import fc from "fast-check";
import { expect, test } from "vitest";
import { sqliteChain } from "../../src/adapters/local/chain.ts";
import { openStore } from "../../src/adapters/local/store/database.ts";
import { drivenStore } from "../../src/adapters/local/store/driven-store.ts";
import { executionsOf } from "../../src/adapters/local/store/executions.ts";
import { createDriver } from "../../src/workers/driver.ts";
import { TURN_MS } from "../../src/workers/placement.ts";
import type { ToChild } from "../../src/workers/wire.ts";
import { type ProcessOptions, type Worker, newWorker } from "../../src/workers/worker-process.ts";
import { type VirtualClock, virtualClock } from "../../src/adapters/memory/clock.ts";
import type { Payload, Reply, TaskResult } from "../../src/protocol/chain.ts";
import { taskOfExecution } from "../../src/protocol/execution.ts";
import type { TenantShares } from "../../src/protocol/fair-share.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { NOW, temporaryDir } from "../process/fixtures/store.ts";

interface Scene {
  readonly workers: number;
  readonly beatsPerWorker: number;
  /** The runs of each agent, by the number of their beats. */
  readonly agents: readonly (readonly number[])[];
  /** How long processes take to start, and beats to end, in milliseconds; repeated as often as needed. */
  readonly startMs: readonly number[];
  readonly beatMs: readonly number[];
  readonly tenants?: TenantShares;
  /** Which tasks end their process, counted over all; at most one of an execution. */
  readonly deaths: ReadonlySet<number>;
}

/** No process has these pids. */
const PID = 2 ** 30;
const SILENCE_MS = 250;

/** Plays the scene to its end, and returns what it took. */
function play(scene: Scene) {
  const clock = virtualClock(NOW);
  const store = openStore({ dir: temporaryDir(), create: true });
  const chain = sqliteChain(store, clock);
  const processes = createProcesses(scene, { clock, executions: executionsOf(store) });
  const over = new Set<string>();
  const driver = createDriver({
    ...{
      store: drivenStore(store),
      clock,
      workers: scene.workers,
      beatsPerWorker: scene.beatsPerWorker,
      concurrency: {},
      tenants: scene.tenants ?? {},
    },
    limits: limitsFor(300_000, { entryAttemptsMax: 5 }),
    worker: { module: "", args: [], execArgv: [], env: {} },
    schedules: () => [],
    onEvent: (event) => {
      if (event.kind === "moved" && event.state === "End") over.add(event.run);
    },
    followClock: () => {},
    onProgress: () => {},
    spawnProcess: processes.spawn,
  });
  const runs = scene.agents.flatMap((beats, agent) =>
    beats.map((count, index) => [`run-${agent}-${index}-${count}`, agent]),
  );
  for (const [run, agent] of runs) void chain.start(String(run), payloadOf(String(run), `agent-${agent}`));
  // Each turn serves each waiting agent once, and no beat takes longer than a turn here.
  const beats = scene.agents.flat().reduce((sum, count) => sum + count, 0);
  const horizon = NOW + (beats + runs.length + 10) * 4 * TURN_MS;
  while (over.size < runs.length && clock.now() < horizon) {
    driver.work();
    processes.endKilled();
    clock.moveTo(Math.min(clock.next() ?? Infinity, clock.now() + SILENCE_MS));
  }
  store.close();
  return {
    order: [...over],
    unserved: runs.filter(([run]) => !over.has(String(run))),
    elapsedMs: clock.now() - NOW,
    ...processes.counts,
  };
}

const payloadOf = (run: string, agent: string): Payload => ({ run, born: "born", chain: 1, epoch: 0, agent });

/** Processes that do what a worker of cairn does, on the virtual clock. */
function createProcesses(
  { startMs, beatMs, deaths }: Scene,
  of: { readonly clock: VirtualClock; readonly executions: ReturnType<typeof executionsOf> },
) {
  const { clock, executions } = of;
  const counts = { starts: 0, starting: 0, tasks: 0, deaths: 0, unused: 0 };
  const alive = new Map<Worker, { readonly end: (signal: NodeJS.Signals) => void; tasks: number }>();
  const spawn = ({ onSpawned }: ProcessOptions): Worker => {
    counts.starts += 1;
    counts.starting += 1;
    let isStarting = true;
    const endStart = (): void => {
      if (isStarting) counts.starting -= 1;
      isStarting = false;
    };
    const identity = { pid: PID + counts.starts, startedAt: "" };
    const emitter = new EventEmitter();
    let mustReturn = false;
    const answer = (secret: string, result: TaskResult): void =>
      void emitter.emit("message", { kind: "answered", secret, result, isHeavy: false });
    const work = (secret: string, task: Extract<ToChild, { kind: "task" }>): void => {
      counts.tasks += 1;
      const [count, { task: wanted, attempt }] = [counts.tasks, task];
      clock.after(at(beatMs, count), () => {
        const life = alive.get(worker);
        if (life === undefined) return;
        if (wanted.kind !== "beat") return answer(secret, { kind: wanted.kind } as TaskResult);
        if (deaths.has(count) && wanted.attempt.retry === 0) return life.end("SIGSEGV");
        const { payload } = wanted;
        const isLast = payload.epoch + 1 >= Number(payload.run.split("-").at(-1));
        const reply: Reply = { ...payload, epoch: payload.epoch + 1, route: isLast ? "done" : "beat", seconds: 1 };
        const execution = wanted.attempt.execution;
        const next = attempt === null || mustReturn || isLast ? null : executions.goOn({ execution, attempt, reply });
        if (next === null) return answer(secret, { kind: "beat", reply });
        emitter.emit("message", { kind: "goesOn", secret, deadline: clock.now() + 300_000 });
        work(secret, { ...task, task: taskOfExecution(next) });
      });
    };
    const send = (message: ToChild): void => {
      if (message.kind === "return" || message.kind === "drain") mustReturn = true;
      if (message.kind !== "task") return;
      mustReturn = message.attempt === null;
      life.tasks += 1;
      work(message.secret, message);
    };
    const child = Object.assign(emitter, { send, pid: identity.pid }) as unknown as ChildProcess;
    const worker: Worker = newWorker(child, identity);
    const life = {
      tasks: 0,
      end: (signal: NodeJS.Signals): void => {
        alive.delete(worker);
        endStart();
        if (signal === "SIGSEGV") counts.deaths += 1;
        if (life.tasks === 0) counts.unused += 1;
        emitter.emit("close", null, signal);
      },
    };
    alive.set(worker, life);
    onSpawned(identity);
    clock.after(at(startMs, counts.starts), () => {
      endStart();
      if (alive.has(worker)) emitter.emit("message", { kind: "ready" });
    });
    return worker;
  };
  /** What `killGroup` does to real processes. */
  const endKilled = (): void => {
    for (const [worker, { end }] of alive) if (worker.leaving !== null) end("SIGKILL");
  };
  return { spawn, endKilled, counts };
}

const at = (values: readonly number[], index: number): number => values[index % values.length] ?? 1;

/** The first sweep, which has a process without an agent. */
const HOUSE_STARTS = 1;

function expectBounded(scene: Scene): void {
  const { unserved, starts, starting, tasks, deaths, unused, elapsedMs } = play(scene);
  expect(unserved).toEqual([]);
  expect(unused).toBe(0);
  // The last run may end while a process still starts, as that of the first sweep.
  expect(starts - starting).toBeLessThanOrEqual(tasks + deaths);
  // Each place changes its agent once a turn, and once more for each agent that has no more work.
  const turns = Math.ceil(elapsedMs / TURN_MS) + 1;
  const houses = HOUSE_STARTS + Math.ceil(elapsedMs / 60_000);
  expect(starts).toBeLessThanOrEqual(turns * (scene.workers + 3) + scene.agents.length + 2 * deaths + houses);
}

// Seed 2026-11-20: the run was over while the process of the first sweep still started.
test("serves a run that ends before the first sweep has a process", () => {
  const once = { workers: 1, beatsPerWorker: 16, agents: [[1]], startMs: [1, 253, 1], beatMs: [1] };
  expectBounded({ ...once, deaths: new Set() });
});

test("serves every run of more agents than places, and starts processes by turns", () => {
  const ms = fc.array(fc.integer({ min: 1, max: 2_500 }), { minLength: 1, maxLength: 8 });
  const scenes = fc.record({
    workers: fc.integer({ min: 1, max: 4 }),
    beatsPerWorker: fc.constantFrom(1, 2, 16),
    agents: fc.array(fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 8,
    }),
    startMs: ms,
    beatMs: ms,
    deaths: fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 4 }).map((all) => new Set(all)),
  });
  fc.assert(fc.property(scenes, expectBounded), { numRuns: 25 });
});

test("serves 36 runs of 12 agents with four workers, with at most two processes an agent", () => {
  const scene = { workers: 4, beatsPerWorker: 1, startMs: [400], beatMs: [150], deaths: new Set<number>() };
  const { unserved, starts, unused } = play({ ...scene, agents: Array.from({ length: 12 }, () => [3, 4, 5]) });
  expect({ unserved, unused }).toEqual({ unserved: [], unused: 0 });
  expect(starts).toBeLessThanOrEqual(2 * 12 + 4);
});

/** The runs of a scene have no tenant in their names. */
test.each([{}, { "": { concurrency: 10 } }, { "": { concurrency: 3 } }])(
  "serves an agent behind a queue of another one that is longer than one read, with the caps %j",
  (tenants) => {
    const scene = {
      workers: 2,
      beatsPerWorker: 1,
      startMs: [100],
      beatMs: [2_000],
      deaths: new Set<number>(),
      tenants,
    };
    const { order } = play({ ...scene, agents: [Array.from({ length: 80 }, () => 1), [1]] });
    expect(order).toHaveLength(81);
    // It waits for the turn of one process, and not for 80 beats of two seconds on two processes.
    expect(order.indexOf("run-1-0-1")).toBeLessThan(10);
  },
);

test("a run that is ready at the start has one process, and no sweep goes before it or beside it", () => {
  const scene = {
    workers: 4,
    beatsPerWorker: 1,
    agents: [[1]],
    startMs: [200],
    beatMs: [300],
    deaths: new Set<number>(),
  };
  expect(play(scene)).toMatchObject({ starts: 1, tasks: 1 });
  // Without the pause a sweep would have a process of its own at once; two seconds after the first beat it has one.
  expect(play({ ...scene, agents: [[4]], beatMs: [900] })).toMatchObject({ starts: 2, tasks: 5 });
  // Also where a process takes longer than that to start.
  expect(play({ ...scene, startMs: [5_000] })).toMatchObject({ starts: 1, tasks: 1 });
  // A first beat that takes long keeps no store from its sweep.
  expect(play({ ...scene, beatMs: [25_000] })).toMatchObject({ starts: 2, tasks: 2 });
});
