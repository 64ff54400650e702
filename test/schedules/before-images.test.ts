/** What a probe compares with, and when a call that needs none is repeated. */
import { expect, test } from "vitest";
import { reconcile } from "../../src/operations/reconcile.ts";
import { addressBook, postOffice } from "../support/agents/letters-agent.ts";
import { beginRun } from "../support/harness/drive.ts";
import { createChainHarness, MS } from "../support/harness/harness.ts";
import { dieInTool } from "../support/harness/chain-steps.ts";

test("schedule 146: a process dies in a probed call, and what its probe looks for was there before the call", async () => {
  const harness = createChainHarness();
  const { agent, letters, images } = postOffice(["of another run"]);
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  await harness.runUntilIdle(agent);
  expect({ status: harness.row(run).status, images, letters: letters.length }).toEqual({
    status: "completed",
    images: [1],
    letters: 2,
  });
});

test("schedule 147: an operator lets an unknown call run again after the service has changed, and its process dies", async () => {
  const harness = createChainHarness();
  const { agent, letters, images } = postOffice([]);
  const unsure = { ...agent, tools: postOffice(letters, { probe: () => ({ kind: "unknown" }) }).agent.tools };
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  await harness.runUntilIdle(unsure);
  expect(harness.row(run).status).toBe("blocked");
  letters.push("of another run");
  harness.clock.moveTo(harness.clock.now() + 3_600_000);
  const retry = { run, call: "c1", as: "retry", result: null, by: "ann", note: null } as const;
  expect(await reconcile(harness.world, retry)).toEqual({ kind: "accepted" });
  await dieInTool(harness, agent);
  await harness.runUntilIdle(agent);
  expect({ status: harness.row(run).status, images, letters: letters.length }).toEqual({
    status: "completed",
    images: [1],
    letters: 2,
  });
});

test("schedule 148: a request that sets an address is still under way when the next process repeats the call, and lands after a later call", async () => {
  const harness = createChainHarness();
  const { agent, service } = addressBook(["A", "B"]);
  const { run } = await beginRun(harness.world, agent, {});
  const leaseUntil = harness.clock.now() + MS.beat + MS.skew;
  await dieInTool(harness, agent);
  // What the dead process has sent lands at the last moment.
  harness.clock.after(leaseUntil + MS.settle - 1 - harness.clock.now(), () => service.write("A"));
  await harness.runUntilIdle(agent);
  expect({ status: harness.row(run).status, written: service.written }).toEqual({
    status: "completed",
    written: ["A", "A", "B"],
  });
});
