/** A pool of workers on a machine that lacks what the test says, and whose processes end when the test says so. */
import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { WorkerUnavailable } from "../../../src/workers/spawn-worker.ts";
import { type Worker, newWorker } from "../../../src/workers/worker-process.ts";
import { type TaskEnd, createPool } from "../../../src/workers/workers.ts";
import { virtualClock } from "../../../src/adapters/memory/clock.ts";
import { NOW } from "../../process/fixtures/store.ts";

/** No process has these pids. */
const PID = 2 ** 30;
const WISH = { agent: "clerk", execution: null, failures: 0 } as const;
/** What it lacks. */
export const FULL = "330 of 330 process IDs are in use";

/** It has no room at first. */
export function fullMachine() {
  const clock = virtualClock(NOW);
  const state = { lacks: FULL as string | null, refuses: false, oom: null as string | null };
  const workers: Worker[] = [];
  const said: string[] = [];
  const ends: TaskEnd[] = [];
  const spawnProcess = (): Worker => {
    if (state.refuses) throw new WorkerUnavailable("no more processes");
    const emitter = Object.assign(new EventEmitter(), { send: () => true });
    const worker = newWorker(emitter as unknown as ChildProcess, { pid: PID + workers.length, startedAt: "" });
    workers.push(worker);
    return worker;
  };
  const options = {
    ...{ workers: 4, beatsPerWorker: 1, beatMs: 1_000, clock, counted: () => clock.now() },
    provenCode: { has: () => true, add: () => {} },
    worker: { module: "", args: [], execArgv: [], env: {} },
    ...{ onSpawned: () => {}, onGone: () => {}, onRoom: () => {}, onHeld: () => {} },
    onUnbootable: () => void said.push("unbootable"),
    onNoRoom: ({ why, ms }: { readonly why: string; readonly ms: number }) => void said.push(`${ms}: ${why}`),
    onRoomAgain: () => void said.push("again"),
    lack: () => state.lacks,
    memoryKills: { explain: () => state.oom, forget: () => {} },
  };
  const pool = createPool(options, spawnProcess);
  const begin = (): Worker | null => {
    const worker = pool.take(WISH);
    if (worker !== null) pool.run(worker, { task: { kind: "sweep" }, onEnd: (end) => void ends.push(end) });
    return worker;
  };
  const tell = (worker: Worker | null, name: string, ...words: readonly unknown[]): void => {
    if (worker !== null) (worker.child as unknown as EventEmitter).emit(name, ...words);
  };
  return { clock, state, said, ends, workers, begin, tell, wait: (ms: number) => clock.moveTo(clock.now() + ms) };
}
