/** What a sweep has read of a run may be past by the time that it acts. */
import { expect, test } from "vitest";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { sweep } from "../../src/maintenance/sweep.ts";
import { beginBackingOff } from "../support/faults/store-outages.ts";
import { wrapTableCall } from "../support/harness/chain-steps.ts";
import { MS } from "../support/harness/harness.ts";

test("a sweeper reads a run that backs off, which is claimed and parks before it is handed over: it stays parked (schedule 94)", async () => {
  const { harness, agent, run } = await beginBackingOff();
  let hasParked = false;
  const overtaken = wrapTableCall(harness.world, "handOver", (call) => async (asked) => {
    if (!hasParked) {
      hasParked = true;
      await sendRequest(harness.world, { run, want: "pause" });
      await harness.runUntilIdle(agent);
      expect(harness.row(run)).toMatchObject({ status: "paused" });
    }
    return call(asked);
  });
  const { chain } = harness.row(run);
  const invocation = { deadline: harness.clock.now() + MS.beat, drain: new AbortController().signal };
  await sweep(overtaken, invocation, { deployment: "one" });
  expect(hasParked).toBe(true);
  expect(harness.row(run)).toMatchObject({ chain, status: "paused" });
  await sendRequest(harness.world, { run, want: "resume" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed" });
});
