/** Supervisors that are killed, drained, refused, or cut off from their store. */
import { once } from "node:events";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { RETRY_GROUP } from "../../../src/protocol/entry.ts";
import type { SupervisorEvent } from "../../../src/ports/supervisor-events.ts";
import { isAlive, killIfAlive } from "../../../src/adapters/local/process-identity.ts";
import { childrenOf, supervisorOf } from "../../../src/adapters/local/store/processes.ts";
import { StoreSupervised } from "../../../src/ports/supervision.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { waitForCount } from "../../support/gate/safety.ts";
import { passableClock } from "../../process/fixtures/clock.ts";
import {
  type SupervisorHarness,
  eventsOf,
  identify,
  createSupervisorHarness,
  startSupervisorProcess,
  stopBetweenWrites,
  waitUntil,
} from "../../process/fixtures/supervisor-harness.ts";

/** How long a drain lets a busy child finish. */
const DRAIN_MS = 8_000;

/** Waits until one beat of the run has begun. A second one is a violation. */
const isAtWork = (harness: SupervisorHarness, run: string): Promise<void> =>
  waitForCount(`a beat of ${run}`, 1, () => harness.noted(run).length);

describe("supervisors", () => {
  it("run one at a time", async () => {
    const of = createSupervisorHarness();
    const child = await startSupervisorProcess(of);
    const second = (): unknown => of.supervise();
    expect(second).toThrow(StoreSupervised);
    expect(second).toThrow(String(child.pid));
  });

  it("end with their children when they are killed, and the next one continues at once", async () => {
    const of = createSupervisorHarness();
    await of.start("held-a");
    const child = await startSupervisorProcess(of);
    await isAtWork(of, "held-a");
    const worker = identify(of.noted("held-a")[0]?.pid);
    expect(isAlive(worker)).toBe(true);
    const dead = identify(child.pid);
    child.kill("SIGKILL");
    await waitUntil("both are gone", () => !isAlive(dead) && !isAlive(worker));
    of.go();
    of.supervise();
    await of.ended("held-a");
    expect(of.noted("held-a").map(({ epoch, retry }) => ({ epoch, retry }))).toEqual([
      { epoch: 0, retry: 0 },
      { epoch: 0, retry: RETRY_GROUP },
    ]);
    expect(childrenOf(of.store).all().every(isAlive)).toBe(true);
  });

  it("end what a dead one left running before they drive anything", async () => {
    const of = createSupervisorHarness();
    await of.start("stuck-a");
    const child = await startSupervisorProcess(of);
    await isAtWork(of, "stuck-a");
    const orphan = identify(of.noted("stuck-a")[0]?.pid);
    onTestFinished(() => killIfAlive(orphan));
    const dead = identify(child.pid);
    child.kill("SIGKILL");
    await waitUntil("the supervisor is gone", () => !isAlive(dead));
    // A loop does not see that the channel has closed.
    expect(isAlive(orphan)).toBe(true);
    of.events.length = 0;
    const knownAtSpawn: (readonly number[])[] = [];
    const onEvent = (event: SupervisorEvent): void => {
      of.events.push(event);
      const known = childrenOf(of.store).all();
      if (event.kind === "workerSpawned") knownAtSpawn.push(known.map(({ pid }) => pid));
    };
    of.supervise({ onEvent });
    await of.ended("stuck-a");
    expect(of.events).toContainEqual({ kind: "orphanKilled", pid: orphan.pid });
    // It leaves the store once it is seen dead, and only then comes the first child.
    expect(knownAtSpawn.flat()).not.toContain(orphan.pid);
    expect(of.noted("stuck-a").map(({ retry }) => retry)).toEqual([0, RETRY_GROUP]);
  });

  it("that are frozen keep the store, and no child of theirs outlives its deadline meanwhile", async () => {
    const of = createSupervisorHarness();
    await of.start("frozen-a");
    const child = await startSupervisorProcess(of, { beatMs: LIMITS.shortBeatMs });
    await isAtWork(of, "frozen-a");
    const worker = identify(of.noted("frozen-a")[0]?.pid);
    await stopBetweenWrites(of.store, child);
    await waitUntil("it has ended by itself", () => !isAlive(worker));
    expect(eventsOf(of.events, "workerGone")).toEqual([]);
    expect(() => of.supervise()).toThrow(StoreSupervised);
    child.kill("SIGCONT");
    await of.ended("frozen-a");
    expect(of.noted("frozen-a").map(({ epoch, retry }) => ({ epoch, retry }))).toEqual([
      { epoch: 0, retry: 0 },
      { epoch: 0, retry: RETRY_GROUP },
    ]);
  });

  it("drain although a child hangs, and what they interrupt continues under the next one", async () => {
    const of = createSupervisorHarness();
    for (const run of ["frozen-a", "held-a"]) await of.start(run);
    const child = await startSupervisorProcess(of);
    for (const run of ["frozen-a", "held-a"]) await isAtWork(of, run);
    const exit = once(child, "exit");
    const workers = ["frozen-a", "held-a"].map((run) => identify(of.noted(run)[0]?.pid));
    // A terminal sends its signals to the children as well; they leave it to the supervisor.
    for (const { pid } of workers) process.kill(pid, "SIGINT");
    for (const { pid } of workers) process.kill(pid, "SIGTERM");
    child.kill("SIGTERM");
    // The one that sees the signal answers in its own time. Only then is the time over that the other one gets.
    await waitUntil("one has answered", () => eventsOf(of.events, "attemptAnswered", "held-a").length > 0);
    child.send(DRAIN_MS);
    expect(await exit).toEqual([0, null]);
    expect(workers.some(isAlive)).toBe(false);
    expect(supervisorOf(of.store)).toBeNull();
    expect(childrenOf(of.store).all()).toEqual([]);

    of.go();
    // What is ready by the clock of that supervisor is ready here.
    const clock = passableClock();
    clock.pass(DRAIN_MS);
    of.supervise({ clock });
    await of.ended("frozen-a");
    await of.ended("held-a");
    expect(of.noted("frozen-a").map(({ epoch, retry }) => ({ epoch, retry }))).toEqual([
      { epoch: 0, retry: 0 },
      { epoch: 0, retry: RETRY_GROUP },
    ]);
    // This one saw the signal, came to an end and answered: its next beat follows.
    expect(of.noted("held-a").map(({ epoch, retry }) => ({ epoch, retry }))).toEqual([
      { epoch: 0, retry: 0 },
      { epoch: 1, retry: 0 },
    ]);
  });
});

describe("a store that is removed under its supervisor", () => {
  it("stops it with its children, and no further work is done for its runs", async () => {
    const of = createSupervisorHarness();
    await of.start("held-a");
    const { stopped } = of.supervise();
    const outcome = stopped.then(
      () => null,
      (error: unknown) => error,
    );
    await isAtWork(of, "held-a");
    const worker = identify(of.noted("held-a")[0]?.pid);
    renameSync(join(of.store.dir, "cairn.sqlite"), join(of.store.dir, "elsewhere"));
    expect(await outcome).toMatchObject({ code: "StoreReplaced", message: expect.stringContaining("was removed") });
    expect(isAlive(worker)).toBe(false);
    of.go();
    expect(of.noted("held-a")).toHaveLength(1);
  });
});

describe("a store that accepts no writes", () => {
  it("is waited for: no response is lost and no process crashes", async () => {
    const of = createSupervisorHarness();
    await of.start("held-a");
    of.supervise();
    await isAtWork(of, "held-a");
    of.store.rows.exec("PRAGMA query_only = 1");
    of.go();
    await waitUntil("it waits", () => eventsOf(of.events, "waitingForStore").length >= 2);
    const pauses = eventsOf(of.events, "waitingForStore").map(({ retryInMs }) => retryInMs);
    expect(pauses.slice(0, 2)).toEqual([250, 500]);
    expect(eventsOf(of.events, "moved")).toEqual([]);
    of.store.rows.exec("PRAGMA query_only = 0");
    await of.ended("held-a");
    expect(of.noted("held-a")).toHaveLength(1);
    expect(eventsOf(of.events, "storeIsBack")).toHaveLength(1);
  });

  it("a supervisor with an internal error stops, with the error and without children", async () => {
    const of = createSupervisorHarness();
    await of.start("held-a");
    const supervisor = of.supervise();
    await isAtWork(of, "held-a");
    const worker = identify(of.noted("held-a")[0]?.pid);
    of.store.rows.exec("DROP TABLE executions");
    await expect(supervisor.stopped).rejects.toThrow("no such table");
    expect(isAlive(worker)).toBe(false);
    expect(supervisorOf(of.store)).toBeNull();
  });
});
