/** The supervisor and its workers, with real processes: which attempt leaves when, and what follows its end. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sqliteChain } from "../../src/adapters/local/chain.ts";
import { systemClock } from "../../src/adapters/local/clock.ts";
import type { SupervisorEvent } from "../../src/ports/supervisor-events.ts";
import { identityOf, isAlive } from "../../src/adapters/local/process-identity.ts";
import { childrenOf, supervisorOf } from "../../src/adapters/local/store/processes.ts";
import { RETRY_GROUP } from "../../src/protocol/entry.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { type TaskLogEntry, eventsOf, createSupervisorHarness, waitUntil } from "./fixtures/supervisor-harness.ts";
import { open } from "./fixtures/store.ts";

/** The scene of a run that a supervisor has driven to its end. */
async function driven(run: string): Promise<ReturnType<typeof createSupervisorHarness>> {
  const of = createSupervisorHarness();
  await of.start(run);
  of.supervise();
  await of.ended(run);
  return of;
}

describe("driving", () => {
  it("drives the runs that are ready in turn, one task at a time, in a child that stays warm, and sweeps behind them", async () => {
    const of = createSupervisorHarness();
    const runs = ["beats-a", "beats-b", "beats-c"];
    for (const run of runs) await of.start(run);
    const supervisor = of.supervise({ workers: 1 });
    for (const run of runs) await of.ended(run);
    const lines = readFileSync(join(of.dir, "log"), "utf8").trim().split("\n");
    const noted = lines.map((line) => JSON.parse(line) as TaskLogEntry);
    const turns = [0, 1, 2].flatMap((epoch) => runs.map((run) => `${run} ${epoch}`));
    // On a slow machine the sweep is due meanwhile.
    const beats = noted.filter(({ kind }) => kind === "beat");
    expect(noted[0]?.kind).toBe("beat");
    expect(beats.map(({ what, run, epoch }) => `${what} ${run} ${epoch}`)).toEqual(
      turns.flatMap((turn) => [`begin ${turn}`, `end ${turn}`]),
    );
    expect(new Set(beats.map(({ pid }) => pid)).size).toBe(1);
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

  it("has no more beats of an agent out than its cap allows, and begins the next one when one has ended", async () => {
    const of = createSupervisorHarness();
    const runs = ["held-a", "held-b", "held-c", "held-d"];
    for (const run of runs) await of.start(run);
    of.supervise({ workers: 1, beatsPerWorker: 8, concurrency: { clerk: 2 } });
    await waitUntil("two are held", () => eventsOf(of.events, "attemptStarted").length >= 2);
    of.go();
    for (const run of runs) await of.ended(run);
    let [out, most] = [0, 0];
    for (const { kind } of of.events) {
      out += Number(kind === "attemptStarted") - Number(kind === "attemptAnswered");
      most = Math.max(most, out);
    }
    expect(most).toBe(2);
  });

  it("sends a task to a child only after the attempt is in the store", async () => {
    const of = createSupervisorHarness();
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

  it("drives executions that other processes start, with as many children as allowed", async () => {
    const of = createSupervisorHarness();
    of.supervise();
    const other = sqliteChain(open(of.dir), systemClock);
    for (const run of ["held-a", "held-b", "held-c"]) {
      await other.start(run, { run, born: "born", chain: 1, epoch: 0, agent: "clerk" });
    }
    await waitUntil("two are held", () => of.noted("held-a").length + of.noted("held-b").length === 2);
    expect(of.noted("held-c")).toEqual([]);
    of.go();
    const runs = ["held-a", "held-b", "held-c"];
    for (const run of runs) await of.ended(run);
    // A sweep that is due while they are held may have a process of its own.
    expect(new Set(runs.flatMap((run) => of.noted(run).map(({ pid }) => pid))).size).toBe(2);
  });
});

describe("messages that code of an agent sends over the channel of its worker", () => {
  it("are ignored: each task gets its own response, and no process ends", async () => {
    const of = await driven("talks-a");
    expect(of.noted("talks-a").map(({ epoch, retry }) => ({ epoch, retry }))).toEqual([
      { epoch: 0, retry: 0 },
      { epoch: 1, retry: 0 },
      { epoch: 2, retry: 0 },
    ]);
    expect(eventsOf(of.events, "attemptFailed")).toEqual([]);
    expect(eventsOf(of.events, "workerGone")).toEqual([]);
  });
});

describe("an attempt that dies", () => {
  it.each([
    ["killed-a", "SIGKILL", null],
    ["confused-a", "it returned a result of another task: park", null],
    ["throws-a", "the task threw", { name: "RangeError", code: null, message: "a bug" }],
  ])("is followed at once by a retry of the same entry in another process: %s", async (run, how, error) => {
    const of = await driven(run);
    const begun = of.noted(run);
    expect(begun.map(({ epoch, retry }) => ({ epoch, retry }))).toEqual([
      { epoch: 0, retry: 0 },
      { epoch: 0, retry: RETRY_GROUP },
    ]);
    expect(begun[0]?.pid).not.toBe(begun[1]?.pid);
    expect(eventsOf(of.events, "attemptFailed")).toEqual([
      { kind: "attemptFailed", execution: run, run, state: "Beat", retry: 0, pid: begun[0]?.pid, how, error },
    ]);
    // Nothing of the first one is left when the second one begins.
    const ofFirst = of.events.filter((event) => "pid" in event && event.pid === begun[0]?.pid).map(({ kind }) => kind);
    expect(ofFirst.slice(-2)).toEqual(["workerGone", "attemptFailed"]);
  });

  it("is retried without another process if the store did not answer it", async () => {
    const run = "hasNoStore-a";
    const of = await driven(run);
    const [first, second] = of.noted(run);
    expect({ epoch: second?.epoch, retry: second?.retry, pid: second?.pid }).toEqual({
      epoch: 0,
      retry: RETRY_GROUP,
      pid: first?.pid,
    });
    const error = { name: "StoreUnreachable", code: "StoreUnreachable", message: "the disk is full" };
    expect(eventsOf(of.events, "attemptFailed")).toMatchObject([{ run, retry: 0, pid: first?.pid, error }]);
    expect(eventsOf(of.events, "workerGone")).toEqual([]);
  });

  it.each(["exits-a", "crashes-a", "crashesOddly-a"])(
    "is no death when it has responded and must end: %s",
    async (run) => {
      const of = await driven(run);
      const begun = of.noted(run);
      expect(begun.map(({ epoch, retry }) => ({ epoch, retry }))).toEqual([
        { epoch: 0, retry: 0 },
        { epoch: 1, retry: 0 },
      ]);
      expect(begun[0]?.pid).not.toBe(begun[1]?.pid);
      expect(eventsOf(of.events, "attemptFailed")).toEqual([]);
    },
  );

  it("ends the processes that its tools started", async () => {
    const of = await driven("spawns-a");
    const started = readFileSync(join(of.dir, "started"), "utf8").trim();
    await waitUntil("what the tool started is gone", () => {
      const left = identityOf(Number(started));
      return left === null || !isAlive(left);
    });
  });

  it("as often as an entry may be tried starts a rescue, which waits for the lease and then ends the execution", async () => {
    const of = createSupervisorHarness();
    await of.start("mortal-a");
    const limits = limitsFor(300_000, { rescueMs: 1_000, entryAttemptsMax: 5 });
    of.supervise({ limits, workers: 1 });
    await of.ended("mortal-a");
    const noted = of.noted("mortal-a").map(({ kind, retry }) => `${kind} ${retry ?? ""}`.trim());
    expect(noted.slice(0, 5)).toEqual(["beat 0", "beat 1000", "beat 2000", "beat 3000", "beat 4000"]);
    // It looks once before the lease ends, or more often on a slow machine.
    expect(noted.slice(5)).toEqual(expect.arrayContaining(["rescue", "rescue"]));
    expect(new Set(noted.slice(5))).toEqual(new Set(["rescue"]));
  });

  it("is killed at its deadline, even if it does not respond", async () => {
    const of = createSupervisorHarness();
    await of.start("stuck-a");
    of.supervise({ limits: limitsFor(Math.ceil(LIMITS.turnMs / 5)) });
    await of.ended("stuck-a");
    // The second attempt answers at once. On a slow machine it may meet its deadline, too.
    const failed = eventsOf(of.events, "attemptFailed");
    expect(new Set(failed.map(({ how }) => how))).toEqual(new Set(["killed at its deadline"]));
    const begun = of.noted("stuck-a");
    expect({ firstRetry: begun[0]?.retry, lastRetry: begun.at(-1)?.retry }).toEqual({
      firstRetry: 0,
      lastRetry: failed.length * RETRY_GROUP,
    });
  });
});

describe("a worker of cairn", () => {
  it("writes what it compiled although it is killed, so that the next one starts faster", async () => {
    const of = createSupervisorHarness();
    const cache = join(of.dir, "compiled");
    const settings = {
      dir: of.dir,
      limits: limitsFor(300_000),
      agentFiles: [],
      prices: {},
      modelRates: {},
      webhooks: [],
    };
    const module = new URL("../../src/compose/workers/worker.ts", import.meta.url);
    const env = { ...process.env, NODE_COMPILE_CACHE: cache };
    of.supervise({ workers: 1, worker: { module, args: [JSON.stringify(settings)], execArgv: [], env } });
    const written = (): readonly string[] => readdirSync(cache, { recursive: true, encoding: "utf8" });
    await waitUntil("it has written its cache", () => existsSync(cache) && written().length > 100);
    expect(eventsOf(of.events, "workerGone")).toEqual([]);
  });
});

describe("workers that cannot be started", () => {
  it("stop the supervisor after five in a row; no attempt counts as a death, and the next supervisor continues", async () => {
    const of = createSupervisorHarness();
    await of.start("beats-a");
    const module = new URL("./fixtures/unbootable-worker.ts", import.meta.url);
    const broken = of.supervise({ worker: { module, args: [], execArgv: [], env: {} } });
    await expect(broken.stopped).rejects.toMatchObject({ code: "WorkersUnbootable" });
    const ended = eventsOf(of.events, "workerGone");
    expect(ended.length).toBeGreaterThanOrEqual(5);
    expect(ended.every(({ how }) => how === "exit code 1")).toBe(true);
    expect(supervisorOf(of.store)).toBeNull();
    of.supervise();
    await of.ended("beats-a");
    const [first] = of.noted("beats-a");
    expect(first).toMatchObject({ epoch: 0, died: null });
  });
});

describe("waiting and parking", () => {
  it("continues when its time is over", async () => {
    const of = createSupervisorHarness();
    for (const run of ["waits-a", "naps-a"]) await of.start(run);
    of.supervise();
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

  it("continues when another process wakes it", async () => {
    const of = createSupervisorHarness();
    await of.start("parks-a");
    of.supervise();
    await waitUntil("it is parked", () => of.noted("parks-a", "end").some(({ kind }) => kind === "park"));
    const token = of.noted("parks-a").find(({ kind }) => kind === "park")?.token ?? "";
    await waitUntil("its token is woken", async () => {
      return (await sqliteChain(open(of.dir), systemClock).wake(token)).kind === "woken";
    });
    await of.ended("parks-a");
    expect(of.noted("parks-a").map(({ kind }) => kind)).toEqual(["beat", "park", "beat"]);
  });

  it("continues when it is woken before the attempt to park has responded", async () => {
    const of = await driven("wakes-a");
    // The attempt to park is still out while the beat after it is over; its late answer changes nothing.
    expect(of.noted("wakes-a", "end").map(({ kind }) => kind)).toEqual(["beat", "beat"]);
    of.go();
    await waitUntil(
      "the attempt to park is over",
      () => eventsOf(of.events, "attemptAnswered", "wakes-a").length === 3,
    );
    expect(eventsOf(of.events, "moved", "wakes-a").map(({ state }) => state)).toEqual(["Park", "End"]);
  });

  it("parks again with another token after a death", async () => {
    const of = createSupervisorHarness();
    await of.start("parksTwice-a");
    of.supervise();
    const parks = () => of.noted("parksTwice-a").filter(({ kind }) => kind === "park");
    await waitUntil("it is parked again", () => eventsOf(of.events, "attemptAnswered", "parksTwice-a").length === 2);
    expect(parks().map(({ retry }) => retry)).toEqual([0, 1]);
    const [dead = "", live = ""] = parks().map(({ token }) => token ?? "");
    const chain = sqliteChain(of.store, systemClock);
    expect(await chain.wake(dead)).toEqual({ kind: "awake" });
    expect(await chain.wake(live)).toEqual({ kind: "woken" });
    await of.ended("parksTwice-a");
  });
});
