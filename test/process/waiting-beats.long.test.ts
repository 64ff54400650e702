/** Beats that wait for their model in one worker process, with real processes: how many wait, and how many act. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type SupervisorHarness, createSupervisorHarness, eventsOf, waitUntil } from "./fixtures/supervisor-harness.ts";

const RUNS = Array.from({ length: 8 }, (_, index) => `asks-${index}`);

const begun = (of: SupervisorHarness): number => RUNS.filter((run) => of.noted(run).length > 0).length;

/** The most tasks that were at work at the same time, between these two lines of the log. */
function mostAtOnce(of: SupervisorHarness, from: "begin" | "act", to: "acted" | "end"): number {
  let [now, most] = [0, 0];
  for (const { what } of of.log().filter((entry) => entry.kind === "beat")) {
    now += Number(what === from) - Number(what === to);
    most = Math.max(most, now);
  }
  return most;
}

const acting = (of: SupervisorHarness): number => RUNS.filter((run) => of.noted(run, "act").length > 0).length;

/** Lets the models answer, and then that many runs act at the same time. */
async function endAll(of: SupervisorHarness, most: number): Promise<void> {
  of.go();
  await waitUntil("as many act as may", () => acting(of) >= most);
  writeFileSync(join(of.dir, "acted"), "");
  for (const run of RUNS) await of.ended(run);
  expect(eventsOf(of.events, "attemptFailed")).toEqual([]);
  expect(new Set(RUNS.flatMap((run) => of.noted(run).map(({ pid }) => pid))).size).toBe(1);
}

test("eight runs wait for their model in a process with two places, and two of them act at once", async () => {
  const of = createSupervisorHarness();
  for (const run of RUNS) await of.start(run);
  of.supervise({ workers: 1, beatsPerWorker: 2 });
  await waitUntil("all wait", () => begun(of) === RUNS.length);
  await endAll(of, 2);
  expect(mostAtOnce(of, "act", "acted")).toBe(2);
});

test.each([
  ["a cap of its agent", { beatsPerWorker: 2, concurrency: { clerk: 3 } }, 3],
  ["the only place of its process", { beatsPerWorker: 1 }, 1],
])("a run that waits for its model keeps %s", async (_, sizes, most) => {
  const of = createSupervisorHarness();
  for (const run of RUNS) await of.start(run);
  of.supervise({ workers: 1, ...sizes });
  await waitUntil("as many wait as may", () => begun(of) === most);
  await endAll(of, 1);
  expect(mostAtOnce(of, "begin", "end")).toBe(most);
});
