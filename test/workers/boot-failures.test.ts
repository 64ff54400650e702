/** Which ends of a worker that was not ready yet say that its module cannot be loaded. */
import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { DRAINED, type TaskEnd, type Worker, newWorker } from "../../src/workers/worker-process.ts";
import { createPool } from "../../src/workers/workers.ts";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import type { WorkersUnbootable } from "../../src/ports/supervision.ts";
import { NOW } from "../process/fixtures/store.ts";

/** No process has these pids. */
const PID = 2 ** 30;
const WISH = { execution: null, failures: 0 } as const;

/** A pool of one worker whose processes end when the test says so. */
function pool() {
  const clock = virtualClock(NOW);
  const workers: { readonly worker: Worker; readonly end: (code: number | null, signal: string | null) => void }[] = [];
  const failures: WorkersUnbootable[] = [];
  const spawnProcess = (): Worker => {
    const emitter = Object.assign(new EventEmitter(), { send: () => true });
    const worker: Worker = newWorker(emitter as unknown as ChildProcess, { pid: PID + workers.length, startedAt: "" });
    workers.push({ worker, end: (code, signal) => void emitter.emit("close", code, signal) });
    return worker;
  };
  const options = {
    ...{ workers: 1, beatsPerWorker: 1, beatMs: 1_000, clock, counted: () => clock.now() },
    worker: { module: "", args: [], execArgv: [], env: {} },
    provenCode: { has: () => true, add: () => {} },
    ...{ onSpawned: () => {}, onGone: () => {}, onRoom: () => {}, onHeld: () => {} },
    ...{ onNoRoom: () => {}, onRoomAgain: () => {}, lack: () => null },
    onUnbootable: (error: WorkersUnbootable) => void failures.push(error),
  };
  return { pool: createPool(options, spawnProcess), workers, failures };
}

test("workers that end by themselves before they are ready stop the supervisor after five in a row", () => {
  const { pool: places, workers, failures } = pool();
  for (let count = 0; count < 5; count += 1) {
    expect(failures).toEqual([]);
    places.take({ ...WISH, agent: "clerk" });
    places.freeUnused();
    workers.at(-1)?.end(1, null);
  }
  expect(failures).toEqual([expect.objectContaining({ code: "WorkersUnbootable" })]);
  expect(failures[0]?.why).toContain("use fewer workers");
});

test("workers that the supervisor itself ended for other agents count as no failed start, however many", () => {
  const { pool: places, workers, failures } = pool();
  for (let count = 0; count < 20; count += 1) {
    // The one before is idle for a whole round, so it is ended for this agent.
    places.beginRound();
    places.beginRound();
    expect(places.take({ ...WISH, agent: `agent-${count}` })).not.toBeNull();
    places.freeUnused();
    if (count > 0) workers.at(-2)?.end(null, "SIGKILL");
  }
  expect(workers).toHaveLength(20);
  expect(failures).toEqual([]);
});

test("a drain does not wait for a worker that is still starting: its task counts as not sent", async () => {
  const { pool: places, workers } = pool();
  const worker = places.take({ ...WISH, agent: null });
  if (worker === null) throw new Error("the pool has no worker for the sweep");
  const ends: TaskEnd[] = [];
  places.run(worker, { task: { kind: "sweep" }, onEnd: (end) => ends.push(end) });
  const drained = places.drain(8_000, "hurry");
  expect(workers[0]?.worker.leaving).toBe(DRAINED);
  workers[0]?.end(null, "SIGKILL");
  await drained;
  expect(ends).toMatchObject([{ kind: "failed", hasDied: false, isUnsent: true }]);
});

test("a worker that says that it is ready after a drain has ended it gets no task", async () => {
  const { pool: places, workers } = pool();
  const worker = places.take({ ...WISH, agent: null });
  if (worker === null) throw new Error("the pool has no worker for the sweep");
  const ends: TaskEnd[] = [];
  places.run(worker, { task: { kind: "sweep" }, onEnd: (end) => ends.push(end) });
  const drained = places.drain(8_000, "hurry");
  worker.child.emit("message", { kind: "ready" });
  workers[0]?.end(null, "SIGKILL");
  await drained;
  expect(ends).toMatchObject([{ kind: "failed", hasDied: false, isUnsent: true }]);
});
