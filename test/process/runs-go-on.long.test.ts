/** A worker process that goes on with its runs by itself, and is drained. */
import { describe, expect, test } from "vitest";
import { LIMITS } from "../support/gate/limits.ts";
import { createSupervisorHarness, eventsOf, waitUntil } from "./fixtures/supervisor-harness.ts";

test("a process that goes on ends its run at a drain, and the next supervisor continues at the next beat", async () => {
  const of = createSupervisorHarness();
  await of.start("runsOn-a");
  const first = of.supervise({ workers: 1 }, "goesOn");
  await waitUntil("it goes on", () => of.noted("runsOn-a").length > 2);
  await first.drain(LIMITS.exitMs);
  const beats = of.noted("runsOn-a", "end").length;
  of.go();
  of.supervise({ workers: 1 }, "goesOn");
  await of.ended("runsOn-a");
  expect(of.noted("runsOn-a").map(({ epoch, retry }) => ({ epoch, retry }))).toEqual(
    Array.from({ length: beats + 1 }, (_, epoch) => ({ epoch, retry: 0 })),
  );
});

describe("a drain that lets the beats under way finish", () => {
  const routesOf = (of: ReturnType<typeof createSupervisorHarness>, run: string) =>
    eventsOf(of.events, "attemptAnswered", run).map(({ route }) => route);
  const begunOf = (of: ReturnType<typeof createSupervisorHarness>, run: string) =>
    eventsOf(of.events, "attemptStarted", run).length;

  test("gives up none of them, and begins no next beat", async () => {
    const of = createSupervisorHarness();
    for (const run of ["held-a", "runsOn-b"]) await of.start(run);
    const supervisor = of.supervise({ workers: 1, beatsPerWorker: 2 }, "goesOn");
    await waitUntil(
      "one waits and one goes on",
      () => of.noted("held-a").length > 0 && of.noted("runsOn-b").length > 2,
    );
    const drained = supervisor.drain(LIMITS.exitMs, "finish");
    await waitUntil("the other one is returned", () => begunOf(of, "runsOn-b") === routesOf(of, "runsOn-b").length);
    of.go();
    await drained;
    expect(routesOf(of, "held-a")).toEqual(["done"]);
    expect(new Set(routesOf(of, "runsOn-b"))).toEqual(new Set(["beat"]));
  });

  test("does so for a process that is still starting", async () => {
    const of = createSupervisorHarness();
    await of.start("runsOn-a");
    const supervisor = of.supervise({ workers: 2 }, "goesOn");
    await waitUntil("its attempt has begun", () => eventsOf(of.events, "attemptStarted").length > 0);
    await supervisor.drain(LIMITS.exitMs, "finish");
    expect(routesOf(of, "runsOn-a")).toEqual(["beat"]);
  });

  test("is hurried by a second call", async () => {
    const of = createSupervisorHarness();
    await of.start("held-a");
    const supervisor = of.supervise({ workers: 1 });
    await waitUntil("it waits", () => of.noted("held-a").length > 0);
    const drained = supervisor.drain(LIMITS.exitMs, "finish");
    await supervisor.drain();
    await drained;
    expect(routesOf(of, "held-a")).toEqual(["beat"]);
  });
});
