/** What a probe compares with: the service as it was right before the call. */
import { expect, test } from "vitest";
import { reconcile } from "../../src/operations/reconcile.ts";
import { postOffice } from "../support/agents/letters-agent.ts";
import { beginRun } from "../support/harness/drive.ts";
import { createChainHarness, rowOf } from "../support/harness/harness.ts";
import { dieInTool, runUntilIdle } from "../support/harness/chain-steps.ts";

test("schedule 149: a process dies in a probed call, and what its probe looks for was there before the call", async () => {
  const harness = createChainHarness();
  const { agent, letters, images } = postOffice(["of another run"]);
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  await runUntilIdle(harness, agent);
  expect([rowOf(harness, run).status, images, letters.length]).toEqual(["completed", [1], 2]);
});

test("schedule 150: an operator lets an unknown call run again after the service has changed, and its process dies", async () => {
  const harness = createChainHarness();
  const { agent, letters, images } = postOffice([]);
  const unsure = { ...agent, tools: postOffice(letters, { probe: () => ({ kind: "unknown" }) }).agent.tools };
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  await runUntilIdle(harness, unsure);
  expect(rowOf(harness, run).status).toBe("blocked");
  letters.push("of another run");
  harness.clock.moveTo(harness.clock.now() + 3_600_000);
  const retry = { run, call: "c1", as: "retry", result: null, by: "ann", note: null } as const;
  expect(await reconcile(harness.world, retry)).toEqual({ kind: "accepted" });
  await dieInTool(harness, agent);
  await runUntilIdle(harness, agent);
  expect([rowOf(harness, run).status, images, letters.length]).toEqual(["completed", [1], 2]);
});
