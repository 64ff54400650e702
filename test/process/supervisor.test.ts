import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { sqliteChain } from "../../src/adapters/local/chain.ts";
import { systemClock } from "../../src/adapters/local/clock.ts";
import type { Store } from "../../src/adapters/local/database.ts";
import type { SupervisorEvent } from "../../src/adapters/local/driver.ts";
import { type ProcessIdentity, identityOf, isAlive, killIfAlive } from "../../src/adapters/local/process-identity.ts";
import { StoreSupervised, childrenOf, supervisorOf } from "../../src/adapters/local/processes.ts";
import { type Supervisor, type SupervisorOptions, startSupervisor } from "../../src/adapters/local/supervisor.ts";
import { limitsFor } from "../../src/core/limits.ts";
import { fastClock } from "./fixtures/clock.ts";
import { open, temporaryDir } from "./fixtures/store.ts";

/** What the worker was asked, in the order of its log. */
interface Noted {
  readonly what: "begin" | "end";
  readonly pid: number;
  readonly kind: "beat" | "park" | "rescue" | "sweep";
  readonly run?: string;
  readonly epoch?: number;
  readonly retry?: number;
  readonly token: string | null;
}

interface Scene {
  readonly dir: string;
  readonly store: Store;
  readonly events: SupervisorEvent[];
  readonly start: (run: string) => Promise<void>;
  readonly supervise: (change?: Partial<SupervisorOptions>) => Supervisor;
  readonly noted: (run: string, what?: Noted["what"]) => readonly Noted[];
  readonly ended: (run: string) => Promise<void>;
  readonly go: () => void;
}

function scene(): Scene {
  const dir = temporaryDir();
  const store = open(dir);
  const events: SupervisorEvent[] = [];
  const chain = sqliteChain(store, systemClock);
  const log = (): readonly Noted[] => {
    const file = join(dir, "log");
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Noted);
  };
  return {
    dir,
    store,
    events,
    start: async (run) => {
      expect(await chain.start(run, { run, born: "born", chain: 1, epoch: 0 })).toEqual({ kind: "started" });
    },
    supervise: (change = {}) => {
      const supervisor = startSupervisor({
        store,
        limits: limitsFor(300_000),
        worker: { module: new URL("./fixtures/worker.ts", import.meta.url), args: [dir], execArgv: [], env: {} },
        workers: 2,
        onEvent: (event) => events.push(event),
        ...change,
      });
      onTestFinished(() => supervisor.drain());
      return supervisor;
    },
    noted: (run, what = "begin") => log().filter((noted) => noted.run === run && noted.what === what),
    ended: (run) =>
      until(`${run} ends`, () => events.some((event) => event.kind === "moved" && event.run === run && !event.readyAt)),
    go: () => writeFileSync(join(dir, "go"), ""),
  };
}

/** Looks again and again, for a bounded time. */
async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 10_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`after 10 s still not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The events of that kind, about that run if one is named. */
function eventsOf<K extends SupervisorEvent["kind"]>(events: readonly SupervisorEvent[], kind: K, run?: string) {
  const isOfKind = (event: SupervisorEvent): event is Extract<SupervisorEvent, { kind: K }> => event.kind === kind;
  return events.filter(isOfKind).filter((event) => run === undefined || ("run" in event && event.run === run));
}

function identify(pid: number | undefined): ProcessIdentity {
  const identity = identityOf(pid ?? 0);
  if (identity === null) throw new Error(`process ${pid} is gone`);
  return identity;
}

async function superviseApart(of: Scene, speed = 1): Promise<ChildProcess> {
  const child = fork(new URL("./fixtures/supervisor.ts", import.meta.url), [of.dir, String(speed)], { execArgv: [] });
  child.on("message", (event: SupervisorEvent) => of.events.push(event));
  onTestFinished(() => void child.kill("SIGKILL"));
  await until("the store is supervised", () => supervisorOf(of.store)?.pid === child.pid);
  return child;
}

describe("driving", () => {
  it("sweeps first, then drives runs in turn, one task at a time, in a child that is kept warm", async () => {
    const of = scene();
    const runs = ["beats-a", "beats-b", "beats-c"];
    for (const run of runs) await of.start(run);
    const supervisor = of.supervise({ workers: 1 });
    for (const run of runs) await of.ended(run);
    const lines = readFileSync(join(of.dir, "log"), "utf8").trim().split("\n");
    const noted = lines.map((line) => JSON.parse(line) as Noted);
    const turns = [0, 1, 2].flatMap((epoch) => runs.map((run) => `${run} ${epoch}`));
    expect(
      noted.map(({ what, kind, run, epoch }) => (kind === "sweep" ? `${what} sweep` : `${what} ${run} ${epoch}`)),
    ).toEqual(["sweep", ...turns].flatMap((turn) => [`begin ${turn}`, `end ${turn}`]));
    expect(new Set(noted.map(({ pid }) => pid)).size).toBe(1);
    expect(eventsOf(of.events, "attemptAnswered", "beats-a").map(({ route }) => route)).toEqual([
      "beat",
      "beat",
      "done",
    ]);
    expect(childrenOf(of.store).all()).toHaveLength(1);
    await supervisor.drain();
    await supervisor.stopped;
    expect(childrenOf(of.store).all()).toEqual([]);
    expect(supervisorOf(of.store)).toBeNull();
  });

  it("gives a child nothing before it is in the store", async () => {
    const of = scene();
    const inStore = new Map<number, boolean>();
    const record = (event: SupervisorEvent): void => {
      of.events.push(event);
      if (event.kind !== "attemptStarted") return;
      inStore.set(
        event.pid,
        childrenOf(of.store)
          .all()
          .some(({ pid }) => pid === event.pid),
      );
    };
    await of.start("beats-a");
    of.supervise({ onEvent: record });
    await of.ended("beats-a");
    expect(new Set(inStore.values())).toEqual(new Set([true]));
  });

  it("sees what other processes start, with as many children as it may have", async () => {
    const of = scene();
    of.supervise();
    const other = sqliteChain(open(of.dir), systemClock);
    for (const run of ["held-a", "held-b", "held-c"]) {
      await other.start(run, { run, born: "born", chain: 1, epoch: 0 });
    }
    await until("two are held", () => of.noted("held-a").length + of.noted("held-b").length === 2);
    expect(of.noted("held-c")).toEqual([]);
    of.go();
    for (const run of ["held-a", "held-b", "held-c"]) await of.ended(run);
    expect(eventsOf(of.events, "workerSpawned")).toHaveLength(2);
  });
});

describe("an attempt that dies", () => {
  it.each([
    ["killed-a", "SIGKILL", null],
    ["exits-a", "its process had to end", null],
    ["crashes-a", "exit code 1", null],
    ["confused-a", "it answered park", null],
    ["throws-a", "the task threw", { name: "StoreUnreachable", code: "StoreUnreachable", message: "the disk is full" }],
  ])("is followed at once by a retry of the same entry, in another process: %s", async (run, how, error) => {
    const of = scene();
    await of.start(run);
    of.supervise();
    await of.ended(run);
    const begun = of.noted(run);
    expect(begun.map(({ epoch, retry }) => ({ epoch, retry }))).toEqual([
      { epoch: 0, retry: 0 },
      { epoch: 0, retry: 1 },
    ]);
    expect(begun[0]?.pid).not.toBe(begun[1]?.pid);
    expect(eventsOf(of.events, "attemptFailed")).toEqual([
      { kind: "attemptFailed", execution: run, run, state: "Beat", retry: 0, pid: begun[0]?.pid, how, error },
    ]);
  });

  it("takes along what its tools started", async () => {
    const of = scene();
    await of.start("spawns-a");
    of.supervise();
    await of.ended("spawns-a");
    const started = readFileSync(join(of.dir, "started"), "utf8").trim();
    await until("what the tool started is gone", () => {
      const left = identityOf(Number(started));
      return left === null || !isAlive(left);
    });
  });

  it("five times leads to a rescue, which waits for the lease and then ends the execution", async () => {
    const of = scene();
    await of.start("mortal-a");
    of.supervise({ clock: fastClock(10), limits: limitsFor(300_000, { rescueMs: 2_000 }), workers: 1 });
    await of.ended("mortal-a");
    expect(of.noted("mortal-a").map(({ kind, retry }) => `${kind} ${retry ?? ""}`.trim())).toEqual([
      "beat 0",
      "beat 1",
      "beat 2",
      "beat 3",
      "beat 4",
      "rescue",
      "rescue",
    ]);
  });

  it("is killed at its deadline, also if it sees nothing any more", async () => {
    const of = scene();
    await of.start("stuck-a");
    of.supervise({ limits: limitsFor(500) });
    await of.ended("stuck-a");
    expect(of.noted("stuck-a").map(({ retry }) => retry)).toEqual([0, 1]);
    expect(eventsOf(of.events, "attemptFailed")).toMatchObject([{ how: "killed at its deadline" }]);
  });
});

describe("waiting and parking", () => {
  it("goes on when the time is up", async () => {
    const of = scene();
    for (const run of ["waits-a", "naps-a"]) await of.start(run);
    of.supervise({ clock: fastClock(10) });
    for (const run of ["waits-a", "naps-a"]) {
      await of.ended(run);
      const beats = of.noted(run).filter(({ kind }) => kind === "beat");
      expect(beats.map(({ epoch, retry }) => ({ epoch, retry }))).toEqual([
        { epoch: 0, retry: 0 },
        { epoch: 1, retry: 0 },
      ]);
      const waiting = eventsOf(of.events, "moved", run).map(({ state }) => state);
      expect(waiting).toEqual(run === "waits-a" ? ["Wait", "End"] : ["Park", "Park", "End"]);
    }
  });

  it("goes on when it is woken by another process", async () => {
    const of = scene();
    await of.start("parks-a");
    of.supervise();
    await until("it is parked", () => of.noted("parks-a", "end").some(({ kind }) => kind === "park"));
    const token = of.noted("parks-a").find(({ kind }) => kind === "park")?.token ?? "";
    await until("its token is woken", async () => {
      return (await sqliteChain(open(of.dir), systemClock).wake(token)).kind === "woken";
    });
    await of.ended("parks-a");
    expect(of.noted("parks-a").map(({ kind }) => kind)).toEqual(["beat", "park", "beat"]);
  });

  it("goes on when it is woken before the attempt to park has answered", async () => {
    const of = scene();
    await of.start("wakes-a");
    of.supervise();
    await of.ended("wakes-a");
    // The attempt to park is still out while the beat after it is over; its late answer changes nothing.
    expect(of.noted("wakes-a", "end").map(({ kind }) => kind)).toEqual(["beat", "beat"]);
    of.go();
    await until("the attempt to park is over", () => eventsOf(of.events, "attemptAnswered", "wakes-a").length === 3);
    expect(eventsOf(of.events, "moved", "wakes-a").map(({ state }) => state)).toEqual(["Park", "End"]);
  });

  it("parks again with another token after a death", async () => {
    const of = scene();
    await of.start("parksTwice-a");
    of.supervise();
    const parks = () => of.noted("parksTwice-a").filter(({ kind }) => kind === "park");
    await until("it is parked again", () => eventsOf(of.events, "attemptAnswered", "parksTwice-a").length === 2);
    expect(parks().map(({ retry }) => retry)).toEqual([0, 1]);
    const [dead = "", live = ""] = parks().map(({ token }) => token ?? "");
    const chain = sqliteChain(of.store, systemClock);
    expect(await chain.wake(dead)).toEqual({ kind: "awake" });
    expect(await chain.wake(live)).toEqual({ kind: "woken" });
    await of.ended("parksTwice-a");
  });
});

describe("supervisors", () => {
  it("are one at a time", async () => {
    const of = scene();
    const child = await superviseApart(of);
    const second = (): unknown => of.supervise();
    expect(second).toThrow(StoreSupervised);
    expect(second).toThrow(String(child.pid));
  });

  it("take their children along when they are killed, and the next one goes on at once", async () => {
    const of = scene();
    await of.start("held-a");
    const child = await superviseApart(of);
    await until("it is held", () => of.noted("held-a").length === 1);
    const worker = identify(of.noted("held-a")[0]?.pid);
    expect(isAlive(worker)).toBe(true);
    const dead = identify(child.pid);
    child.kill("SIGKILL");
    await until("both are gone", () => !isAlive(dead) && !isAlive(worker));
    of.go();
    of.supervise();
    await of.ended("held-a");
    expect(of.noted("held-a").map(({ epoch, retry }) => [epoch, retry])).toEqual([
      [0, 0],
      [0, 1],
    ]);
    expect(childrenOf(of.store).all().every(isAlive)).toBe(true);
  });

  it("end what a dead one left behind before they drive anything", async () => {
    const of = scene();
    await of.start("stuck-a");
    const child = await superviseApart(of);
    await until("it is stuck", () => of.noted("stuck-a").length === 1);
    const orphan = identify(of.noted("stuck-a")[0]?.pid);
    onTestFinished(() => killIfAlive(orphan));
    const dead = identify(child.pid);
    child.kill("SIGKILL");
    await until("the supervisor is gone", () => !isAlive(dead));
    // A loop does not see that the channel has closed.
    expect(isAlive(orphan)).toBe(true);
    of.events.length = 0;
    let aliveAtFirstSpawn: boolean | null = null;
    const onEvent = (event: SupervisorEvent): void => {
      of.events.push(event);
      if (event.kind === "workerSpawned") aliveAtFirstSpawn ??= isAlive(orphan);
    };
    of.supervise({ onEvent });
    await of.ended("stuck-a");
    expect(of.events).toContainEqual({ kind: "orphanKilled", pid: orphan.pid });
    expect(aliveAtFirstSpawn).toBe(false);
    expect(of.noted("stuck-a").map(({ retry }) => retry)).toEqual([0, 1]);
  });

  it("drain in less than 10 s, and what they cut off goes on under the next one", async () => {
    const of = scene();
    for (const run of ["frozen-a", "held-a"]) await of.start(run);
    // As fast as that one's, and begun before it: what is ready there is ready here.
    const clock = fastClock(20);
    const child = await superviseApart(of, 20);
    await until("both are at work", () => of.noted("frozen-a").length + of.noted("held-a").length === 2);
    const exit = once(child, "exit");
    const workers = ["frozen-a", "held-a"].map((run) => identify(of.noted(run)[0]?.pid));
    // A terminal sends its signals to the children as well; they leave it to the supervisor.
    for (const { pid } of workers) process.kill(pid, "SIGINT");
    for (const { pid } of workers) process.kill(pid, "SIGTERM");
    const begin = Date.now();
    child.kill("SIGTERM");
    expect(await exit).toEqual([0, null]);
    // Twenty times as fast: the bound of 10 s is half a second.
    expect(Date.now() - begin).toBeLessThan(10_000 / 20 + 500);
    expect(workers.some(isAlive)).toBe(false);
    expect(supervisorOf(of.store)).toBeNull();
    expect(childrenOf(of.store).all()).toEqual([]);

    of.go();
    of.supervise({ clock });
    await of.ended("frozen-a");
    await of.ended("held-a");
    expect(of.noted("frozen-a").map(({ epoch, retry }) => [epoch, retry])).toEqual([
      [0, 0],
      [0, 1],
    ]);
    // This one saw the signal, came to an end and answered: its next beat follows.
    expect(of.noted("held-a").map(({ epoch, retry }) => [epoch, retry])).toEqual([
      [0, 0],
      [1, 0],
    ]);
  });
});

describe("a store that takes no more", () => {
  it("is waited for: no answer is lost and nothing crashes", async () => {
    const of = scene();
    await of.start("held-a");
    of.supervise();
    await until("it is held", () => of.noted("held-a").length === 1);
    of.store.rows.exec("PRAGMA query_only = 1");
    of.go();
    await until("it waits", () => eventsOf(of.events, "waitingForStore").length >= 2);
    expect(eventsOf(of.events, "waitingForStore").map(({ retryInMs }) => retryInMs)).toMatchObject([250, 500]);
    expect(eventsOf(of.events, "moved")).toEqual([]);
    of.store.rows.exec("PRAGMA query_only = 0");
    await of.ended("held-a");
    expect(of.noted("held-a")).toHaveLength(1);
    expect(eventsOf(of.events, "storeIsBack")).toHaveLength(1);
  });

  it("a supervisor that meets a mistake of ours stops, with the error and without children", async () => {
    const of = scene();
    await of.start("held-a");
    const supervisor = of.supervise();
    await until("it is held", () => of.noted("held-a").length === 1);
    const worker = identify(of.noted("held-a")[0]?.pid);
    of.store.rows.exec("DROP TABLE executions");
    await expect(supervisor.stopped).rejects.toThrow("no such table");
    expect(isAlive(worker)).toBe(false);
    expect(supervisorOf(of.store)).toBeNull();
  });
});
