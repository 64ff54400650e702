/** What a supervisor could not write of its log, as another process reads it in the store. */
import { expect, test } from "vitest";
import { drivenStore } from "../../../src/adapters/local/store/driven-store.ts";
import { lostOutputKeeper, lostOutputOf } from "../../../src/adapters/local/store/lost-output.ts";
import { supervisorOf } from "../../../src/adapters/local/store/processes.ts";
import type { DrivenStore } from "../../../src/ports/driven-store.ts";
import { startSupervisor } from "../../../src/workers/supervisor.ts";
import { virtualClock } from "../../../src/adapters/memory/clock.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { NOW, temporaryStore } from "../../process/fixtures/store.ts";

const SELF = { pid: 7, startedAt: "a" };

test("is known of that process, and of no later one with its process ID", () => {
  const store = temporaryStore();
  const keep = lostOutputKeeper(store, SELF);
  keep(null);
  expect(lostOutputOf(store, SELF)).toBeNull();
  keep({ lines: 3, why: "the disk is full" });
  expect(lostOutputOf(store, SELF)).toEqual({ lines: 3, why: "the disk is full" });
  expect(lostOutputOf(store, { pid: 7, startedAt: "b" })).toBeNull();
});

test("is stored once for each count, and later where the store takes no write", () => {
  const store = temporaryStore();
  const keep = lostOutputKeeper(store, SELF);
  const lost = { lines: 3, why: "full" };
  store.rows.exec("PRAGMA query_only = 1");
  keep(lost);
  expect(lostOutputOf(store, SELF)).toBeNull();
  store.rows.exec("PRAGMA query_only = 0");
  keep(lost);
  expect(lostOutputOf(store, SELF)).toEqual(lost);
  const changes = (): unknown => store.rows.prepare("SELECT total_changes() AS count").get()?.["count"];
  const before = changes();
  keep(lost);
  expect(changes()).toBe(before);
  keep({ lines: 4, why: "full" });
  expect(lostOutputOf(store, SELF)?.lines).toBe(4);
});

test("is what the doctor sees of a supervisor at work", async () => {
  const store = temporaryStore();
  const clock = virtualClock(NOW);
  let lines = 0;
  const lostOutput = () => (lines === 0 ? null : { lines, why: "full" });
  const worker = { module: "none", args: [], execArgv: [], env: {} };
  const options = { store: drivenStore(store), limits: limitsFor(3_000), worker, clock, lostOutput, onEvent: () => {} };
  const supervisor = startSupervisor(options);
  const seen = () => {
    const self = supervisorOf(store);
    return self === null ? null : lostOutputOf(store, self);
  };
  expect(seen()).toBeNull();
  lines = 5;
  clock.moveTo(NOW + 10_000);
  expect(seen()).toEqual({ lines: 5, why: "full" });
  await supervisor.drain(0);
  expect(seen()).toBeNull();
  expect(clock.next()).toBeNull();
});

test("a supervisor that cannot begin leaves no timer and no claim on the store behind", async () => {
  const store = temporaryStore();
  const clock = virtualClock(NOW);
  const worker = { module: "none", args: [], execArgv: [], env: {} };
  const start = (change: Partial<DrivenStore>) =>
    startSupervisor({
      ...{ store: { ...drivenStore(store), ...change }, limits: limitsFor(3_000), worker, clock, onEvent: () => {} },
    });
  const broken = (): never => {
    throw new Error("the store is locked");
  };
  for (const part of ["executions", "lostOutputKeeper"] as const) {
    expect(() => start({ [part]: broken })).toThrow("the store is locked");
    expect({ supervisor: supervisorOf(store), next: clock.next() }).toEqual({ supervisor: null, next: null });
  }
  await start({}).drain(0);
});
