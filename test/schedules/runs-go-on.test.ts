/** A worker process that goes on with its run by itself, with real processes: how it ends, and who gets its place. */
import { expect, test } from "vitest";
import { RETRY_GROUP } from "../../src/protocol/entry.ts";
import { createSupervisorHarness, eventsOf, waitUntil } from "../process/fixtures/supervisor-harness.ts";

test("schedule 155: a process goes on with its run by itself and dies in the third beat; that beat is retried", async () => {
  const of = createSupervisorHarness();
  await of.start("diesLate-a");
  of.supervise({ workers: 1 }, "goesOn");
  await of.ended("diesLate-a");
  expect(of.noted("diesLate-a").map(({ epoch, retry, died }) => ({ epoch, retry, died }))).toEqual([
    { epoch: 0, retry: 0, died: null },
    { epoch: 1, retry: 0, died: null },
    { epoch: 2, retry: 0, died: null },
    { epoch: 2, retry: RETRY_GROUP, died: 0 },
    { epoch: 3, retry: 0, died: null },
  ]);
  const { attempt = 0 } =
    of.store.rows.prepare("SELECT attempt FROM executions WHERE name = ?").get("diesLate-a") ?? {};
  // The first attempt, its retry, and the beat after it: a process keeps no retry. One that finds the store busy goes on
  // once less, which takes one more; without going on it would be five.
  expect([3, 4]).toContain(attempt);
});

test("schedule 156: a run goes on in the last free place, of the process or of its agent; others wait, and all make progress", async () => {
  await takeTurnsInAProcess();
  await takeTurnsInACap();
});

/** The run returns the only place of the process, because a task found none. */
async function takeTurnsInAProcess(): Promise<void> {
  const of = createSupervisorHarness();
  for (const run of ["runsOn-a", "runsOn-b"]) await of.start(run);
  of.supervise({ workers: 1, beatsPerWorker: 1 }, "goesOn");
  const beatsOf = (run: string): number => of.noted(run).length;
  await waitUntil("both make progress", () => beatsOf("runsOn-a") > 2 && beatsOf("runsOn-b") > 2);
  // Without being asked, the first run would keep the place until a sweep finds none, after some 200 beats.
  const begun = of.log().filter(({ what, run }) => what === "begin" && run?.startsWith("runsOn"));
  expect(begun.findIndex(({ run }) => run !== begun[0]?.run)).toBeLessThan(40);
  await of.start("beats-c");
  await of.ended("beats-c");
  of.go();
  for (const run of ["runsOn-a", "runsOn-b"]) await of.ended(run);
  expect(eventsOf(of.events, "attemptFailed")).toEqual([]);
  expect(eventsOf(of.events, "workerSpawned")).toHaveLength(1);
}

/** Runs of a capped agent take turns, since the others are not even looked at while it is full. */
async function takeTurnsInACap(): Promise<void> {
  const of = createSupervisorHarness();
  const runs = ["runsOn-a", "runsOn-b"];
  for (const run of runs) await of.start(run);
  of.supervise({ workers: 1, beatsPerWorker: 8, concurrency: { clerk: 1 } }, "goesOn");
  await waitUntil("both make progress", () => runs.every((run) => of.noted(run).length > 2));
  of.go();
  for (const run of runs) await of.ended(run);
}
