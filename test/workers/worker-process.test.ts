/** What a supervisor makes of the messages of a worker that goes on with its run by itself. */
import type { ChildProcess } from "node:child_process";
import { expect, test } from "vitest";
import { type Worker, askBack, close, give, hear, leaveIfDone, newWorker } from "../../src/workers/worker-process.ts";
import { HOLD_FROM_MS, HOLD_ON_MS, type ToChild } from "../../src/workers/wire.ts";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { NOW } from "../process/fixtures/store.ts";

const BEAT_MS = 1_000;
/** No process has it. */
const PID = 2 ** 30;

/** A worker with one task, a record of what it was told, and how often its run went on. */
function working(beatMs = BEAT_MS) {
  const clock = virtualClock(NOW);
  const told: ToChild[] = [];
  let next = 0;
  const child = { send: (message: ToChild) => told.push(message) } as unknown as ChildProcess;
  const worker: Worker = {
    ...newWorker(child, { pid: PID, startedAt: "" }),
    agent: "clerk",
    isReady: true,
    servesSince: NOW,
  };
  const launch = { module: "", args: [], execArgv: [], env: {} };
  const options = {
    worker: launch,
    beatMs,
    clock,
    onSpawned: () => {},
    onGone: () => {},
    onRoom: () => {},
    onHeld: () => {},
    counted: () => clock.now(),
  };
  const work = {
    task: { kind: "sweep" },
    goesOn: { attempt: 1, onNext: () => (next += 1) },
    onEnd: () => {},
  } as const;
  give(worker, { work, secret: "s", options });
  const goesOn = (deadline: number, secret = "s"): void =>
    hear(worker, { message: { kind: "goesOn", secret, deadline }, options });
  const holdsOn = (): void => hear(worker, { message: { kind: "holdsOn", secret: "s", why: "held" }, options });
  return {
    clock,
    told,
    worker,
    goesOn,
    holdsOn,
    beats: () => next,
    wait: (ms: number) => clock.moveTo(clock.now() + ms),
  };
}

test("a process that goes on is killed at the deadline of the beat that it is at, and not before", () => {
  const { clock, worker, goesOn, beats, wait } = working();
  wait(900);
  goesOn(clock.now() + BEAT_MS);
  expect(beats()).toBe(1);
  wait(900);
  expect(worker.leaving).toBeNull();
  wait(100);
  expect(worker.leaving).toEqual({ how: "killed at its deadline" });
});

test("no beat gets more time than the supervisor gives one, whatever its process says", () => {
  for (const deadline of [Infinity, NaN, NOW + 10 * BEAT_MS]) {
    const { worker, goesOn, wait } = working();
    goesOn(deadline);
    wait(BEAT_MS);
    expect(worker.leaving).not.toBeNull();
  }
});

test("a message without the secret of the task changes nothing", () => {
  const { clock, worker, goesOn, beats, wait } = working();
  wait(900);
  goesOn(clock.now() + BEAT_MS, "another");
  wait(100);
  expect({ beats: beats(), leaving: worker.leaving }).toEqual({ beats: 0, leaving: { how: "killed at its deadline" } });
});

test("a worker is asked once to return each task", () => {
  const { told, worker } = working();
  askBack(worker);
  askBack(worker);
  expect(told.map(({ kind }) => kind)).toEqual(["task", "return"]);
});

test("a process that closes is not ended while it is kept for a task", () => {
  const { worker } = working();
  worker.tasks.clear();
  worker.kept = 1;
  close(worker, { how: "its place is kept for other tasks" });
  expect(worker.leaving).toBeNull();
  worker.kept = 0;
  leaveIfDone(worker);
  expect(worker.leaving).toEqual({ how: "its place is kept for other tasks" });
});

test("a beat that waits for the store long before its deadline keeps it, since it may begin more; later it may outlive it", () => {
  const beatMs = 3 * HOLD_ON_MS;
  const early = working(beatMs);
  early.wait(beatMs - HOLD_FROM_MS - 1_000);
  early.holdsOn();
  early.wait(HOLD_FROM_MS + 1_000);
  expect(early.worker.leaving).toEqual({ how: "killed at its deadline" });
  const late = working(beatMs);
  late.wait(beatMs - 1_000);
  // From then on each time counts, however much is left by the last one.
  for (let count = 0; count < 3; count += 1) {
    late.holdsOn();
    late.wait(HOLD_ON_MS / 2);
  }
  expect(late.worker.leaving).toBeNull();
  // Its next beat has a deadline as any.
  late.goesOn(late.clock.now() + beatMs);
  late.holdsOn();
  late.wait(beatMs);
  expect(late.worker.leaving).toEqual({ how: "killed at its deadline" });
});
