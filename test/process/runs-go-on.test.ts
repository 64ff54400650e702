/** A worker process that goes on with its runs by itself, and is drained. */
import { expect, test } from "vitest";
import { createSupervisorHarness, waitUntil } from "./fixtures/supervisor-harness.ts";

test("a process that goes on ends its run at a drain, and the next supervisor continues at the next beat", async () => {
  const of = createSupervisorHarness();
  await of.start("runsOn-a");
  const first = of.supervise({ workers: 1 }, "goesOn");
  await waitUntil("it goes on", () => of.noted("runsOn-a").length > 2);
  await first.drain();
  const beats = of.noted("runsOn-a", "end").length;
  of.go();
  of.supervise({ workers: 1 }, "goesOn");
  await of.ended("runsOn-a");
  expect(of.noted("runsOn-a").map(({ epoch, retry }) => ({ epoch, retry }))).toEqual(
    Array.from({ length: beats + 1 }, (_, epoch) => ({ epoch, retry: 0 })),
  );
});
