/** A process that was held up judges others late: schedules 230 to 233. The clock of these tests fires its timers late. */
import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { endLateBoot } from "../../src/workers/spawn-worker.ts";
import type { ToChild } from "../../src/workers/wire.ts";
import { createPool } from "../../src/workers/workers.ts";
import { type TaskEnd, type Worker, give, hasJudged, hear, newWorker } from "../../src/workers/worker-process.ts";
import { attemptTool } from "../../src/engine/tools/tool-attempt.ts";
import { afterReading } from "../../src/ports/late-timers.ts";
import type { Tool } from "../../src/ports/agent.ts";
import type { Clock } from "../../src/ports/world.ts";
import { flushPromises } from "../support/harness/harness.ts";

const BEAT_MS = 3_000;
/** No process has it. */
const PID = 2 ** 30;

/** The event loop of a process that can be stopped: timers, then what has arrived, then what waits for it. */
function stoppable() {
  let now = 1_000_000;
  /** What timers count, which stand still while the machine sleeps. */
  let counted = 0;
  let timers: readonly { readonly at: number; readonly call: () => void }[] = [];
  let polled: readonly (() => void)[] = [];
  let mail: readonly (() => void)[] = [];
  const remove = <T>(all: readonly T[], one: T): readonly T[] => all.filter((each) => each !== one);
  const after = afterReading({
    start: (delayMs, call) => {
      const timer = { at: counted + Math.max(0, delayMs), call };
      timers = [...timers, timer];
      return () => (timers = remove(timers, timer));
    },
    poll: (call) => {
      polled = [...polled, call];
      return () => (polled = remove(polled, call));
    },
    count: () => counted,
  });
  const turn = (): void => {
    for (let due = first(); due !== undefined && due.at <= counted; due = first()) {
      timers = remove(timers, due);
      due.call();
    }
    const read = mail;
    mail = [];
    for (const message of read) message();
    const waiting = polled;
    polled = [];
    for (const call of waiting) call();
  };
  const first = () => timers.toSorted((one, other) => one.at - other.at)[0];
  const clock: Clock = { now: () => now, earliest: () => now, after };
  return {
    clock,
    counted: () => now,
    /** Something arrives, and is read in the next turn. */
    arrive: (message: () => void) => void (mail = [...mail, message]),
    turn,
    /** The process is stopped for so long, and takes no turn. */
    stop: (ms: number) => {
      now += ms;
      counted += ms;
    },
    /** The machine sleeps, and timers stand still with it. */
    sleep: (ms: number) => void (now += ms),
    /** The process takes all its turns in time. */
    run: (ms: number) => {
      for (let left = ms; left > 0; left -= 10) {
        now += 10;
        counted += 10;
        turn();
      }
    },
  };
}

/** A supervisor with a worker that has one task. */
function supervising() {
  const loop = stoppable();
  const ends: TaskEnd[] = [];
  const told: ToChild[] = [];
  const child = { send: (message: ToChild) => told.push(message) } as unknown as ChildProcess;
  const worker: Worker = { ...newWorker(child, { pid: PID, startedAt: "" }), agent: "clerk", isReady: true };
  const options = {
    ...{ worker: { module: "", args: [], execArgv: [], env: {} }, beatMs: BEAT_MS },
    ...{ clock: loop.clock, counted: loop.counted },
    ...{ onSpawned: () => {}, onGone: () => {}, onRoom: () => {}, onHeld: () => {} },
  };
  const work = {
    task: { kind: "sweep" },
    goesOn: { attempt: 1, onNext: () => {} },
    onEnd: (end: TaskEnd) => void ends.push(end),
  } as const;
  give(worker, { work, secret: "s", options });
  const goesOn = (deadline: number) => (): void =>
    hear(worker, { message: { kind: "goesOn", secret: "s", deadline }, options });
  const answers = (): void =>
    hear(worker, { message: { kind: "answered", secret: "s", result: { kind: "sweep" }, isHeavy: false }, options });
  return { loop, worker, options, ends, goesOn, answers };
}

test("schedule 232: a machine sleeps in a beat, and a beat that is over is ended before its run could be claimed", () => {
  const { loop, worker, options } = supervising();
  loop.run(1_000);
  expect(hasJudged(worker, options)).toBe(true);
  loop.sleep(8 * 3_600_000);
  // The timers still have two seconds, and the run's lease is over for eight hours.
  expect(hasJudged(worker, options)).toBe(false);
  loop.run(100);
  expect(worker.leaving?.how).toMatch(/supervisor was stopped/);
});

/** A pool whose only worker has one task, and which is told to drain. */
function draining(graceMs: number) {
  const loop = stoppable();
  const emitter = Object.assign(new EventEmitter(), { send: () => true });
  const worker: Worker = {
    ...newWorker(emitter as unknown as ChildProcess, { pid: PID, startedAt: "" }),
    isReady: true,
  };
  const options = {
    ...{ workers: 1, beatsPerWorker: 1, beatMs: 10 * BEAT_MS, clock: loop.clock, counted: loop.counted },
    worker: { module: "", args: [], execArgv: [], env: {} },
    provenCode: { has: () => true, add: () => {} },
    ...{ onNoRoom: () => {}, onRoomAgain: () => {}, lack: () => null },
    ...{ onSpawned: () => {}, onGone: () => {}, onRoom: () => {}, onHeld: () => {}, onUnbootable: () => {} },
  };
  const pool = createPool(options, () => worker);
  const ends: TaskEnd[] = [];
  const taken = pool.take({ agent: "clerk", execution: null, failures: 0 });
  if (taken === null) throw new Error("it has no place");
  pool.run(taken, { task: { kind: "sweep" }, onEnd: (end) => void ends.push(end) });
  const secret = [...worker.tasks.keys()][0] ?? "";
  let isDrained = false;
  void pool.drain(graceMs, "hurry").then(() => (isDrained = true));
  const answer = (): void =>
    void emitter.emit("message", { kind: "answered", secret, result: { kind: "sweep" }, isHeavy: false });
  return { loop, worker, ends, answer, emitter, isDrained: () => isDrained };
}

test("schedule 230: a process that was held up judges others only after it has read what they sent", async () => {
  // Judges after what has arrived is read, and gives an answer that needs several reads a moment.
  {
    const loop = stoppable();
    const seen: string[] = [];
    loop.clock.after(1_000, () => seen.push("judged"));
    loop.stop(30_000);
    loop.arrive(() => {
      seen.push("head");
      loop.arrive(() => seen.push("body"));
    });
    loop.turn();
    loop.run(200);
    expect(seen).toEqual(["head", "body", "judged"]);
  }
  // Judges in time after one poll where the process was not held up, and never once it is taken back.
  {
    const loop = stoppable();
    const seen: string[] = [];
    loop.clock.after(1_000, () => seen.push("judged"));
    const takeBack = loop.clock.after(1_000, () => seen.push("taken back"));
    loop.run(990);
    loop.arrive(() => {
      seen.push("read");
      takeBack();
    });
    loop.run(10);
    expect(seen).toEqual(["read", "judged"]);
  }
  // Reads for a moment only, however long the process was stopped.
  {
    const loop = stoppable();
    let isJudged = false;
    loop.clock.after(1_000, () => (isJudged = true));
    loop.stop(8 * 3_600_000);
    loop.run(150);
    expect(isJudged).toBe(true);
  }
  // Calls no tool silent whose answer lies in the socket, though its time is over.
  {
    const loop = stoppable();
    const answer = Promise.withResolvers<string>();
    const tool = { run: () => answer.promise } as unknown as Tool;
    const context = {} as Parameters<typeof attemptTool>[0]["context"];
    const attempt = attemptTool({ tool, context, timeoutMs: 1_000, graceMs: 500, clock: loop.clock });
    loop.stop(60_000);
    loop.arrive(() => answer.resolve("sent"));
    loop.turn();
    await answer.promise;
    for (let left = 0; left < 100; left += 1) {
      loop.run(10);
      await Promise.resolve();
    }
    expect(await attempt).toEqual({ kind: "returned", value: "sent" });
  }
});

test("schedule 231: a supervisor that was stopped for longer than a beat spares what went on, kills what did not, and begins nothing before", () => {
  // Spares a worker that went on, whose messages come in several rounds, until the deadline that it named last.
  {
    const { loop, worker, goesOn } = supervising();
    const begun = loop.clock.now();
    loop.stop(20 * BEAT_MS);
    loop.arrive(goesOn(begun + BEAT_MS));
    // The pipe was full. The worker writes the rest once the supervisor has read.
    for (let beat = 2; beat <= 8; beat += 1) {
      loop.run(30);
      loop.arrive(goesOn(begun + beat * BEAT_MS));
    }
    loop.run(30);
    loop.arrive(goesOn(loop.clock.now() + 1_000));
    loop.run(980);
    expect(worker.leaving).toBeNull();
    loop.run(100);
    expect(worker.leaving).toEqual({ how: "killed at its deadline" });
  }
  // Takes the answer of a worker that finished meanwhile.
  {
    const { loop, worker, ends, answers } = supervising();
    loop.stop(20 * BEAT_MS);
    loop.arrive(answers);
    loop.turn();
    loop.run(2_000);
    expect({ leaving: worker.leaving, ends }).toEqual({
      leaving: null,
      ends: [{ kind: "answered", answer: { kind: "sweep" } }],
    });
  }
  // Kills a worker that was stopped as well, soon, and begins nothing before.
  {
    const { loop, worker, options } = supervising();
    loop.stop(20 * BEAT_MS);
    expect(hasJudged(worker, options)).toBe(false);
    loop.turn();
    expect(hasJudged(worker, options)).toBe(false);
    loop.run(300);
    expect(worker.leaving?.how).toMatch(/supervisor was stopped/);
    expect(hasJudged(worker, options)).toBe(true);
  }
  // Kills a worker that talks on without a new deadline after a bounded time.
  {
    const { loop, worker, options } = supervising();
    loop.stop(20 * BEAT_MS);
    const waits = { kind: "waits", secret: "s", isWaiting: false, isHeavy: false } as const;
    for (let count = 0; count < 300 && worker.leaving === null; count += 1) {
      loop.arrive(() => hear(worker, { message: waits, options }));
      loop.run(10);
    }
    expect(worker.leaving).not.toBeNull();
  }
  // Kills a worker that hangs at its deadline where it was not stopped itself.
  {
    const { loop, worker } = supervising();
    loop.run(BEAT_MS);
    expect(worker.leaving).toEqual({ how: "killed at its deadline" });
  }
  // A death at the deadline counts, however long the process takes to be gone.
  {
    const { loop, ends, emitter } = draining(600_000);
    loop.run(10 * BEAT_MS + 2_000);
    emitter.emit("close", null, "SIGKILL");
    expect(ends).toMatchObject([{ how: "killed at its deadline", hasDied: true }]);
  }
  // An attempt that ended while its supervisor was stopped counts as no death of its run.
  {
    const { loop, ends, emitter } = draining(600_000);
    loop.stop(20 * 10 * BEAT_MS);
    emitter.emit("close", null, "SIGKILL");
    expect(ends).toEqual([{ kind: "failed", how: "SIGKILL", error: null, hasDied: false, isUnsent: false }]);
  }
});

test("schedule 233: a supervisor that is stopped while it drains, or while a worker starts, kills nothing too early", async () => {
  // While it drains takes the answers that came before it kills.
  {
    const { loop, ends, answer } = draining(1_000);
    loop.stop(60_000);
    loop.arrive(answer);
    loop.turn();
    loop.run(500);
    expect(ends).toEqual([{ kind: "answered", answer: { kind: "sweep" } }]);
  }
  // While it drains waits for the end of what it kills late.
  {
    const { loop, worker, emitter, isDrained } = draining(1_000);
    loop.stop(60_000);
    loop.run(500);
    expect(worker.leaving).not.toBeNull();
    await flushPromises();
    expect(isDrained()).toBe(false);
    emitter.emit("close", null, "SIGKILL");
    await expect.poll(isDrained).toBe(true);
  }
  // While a worker starts gives it new time, since a worker that is not ready acts for no run.
  {
    const { loop, options } = supervising();
    const worker = newWorker({} as ChildProcess, { pid: PID, startedAt: "" });
    endLateBoot(worker, options);
    loop.stop(60_000);
    loop.run(10_000);
    expect(worker.leaving).toBeNull();
    loop.run(25_000);
    expect(worker.leaving).toEqual({ how: "killed: it was not ready in time" });
  }
});
