/** Labels: what `cairn show` says that a run waits for. */
import { expect, test } from "vitest";
import { show } from "../../src/operations/views.ts";
import { dieInTool } from "../support/harness/chain-steps.ts";
import { beginRun } from "../support/harness/drive.ts";
import { createChainHarness, scriptedAgent } from "../support/harness/harness.ts";

test.each([
  ["probed", "is probed"],
  ["idempotent", "runs again"],
] as const)("says that a run waits until the request of a %s call can no longer take effect", async (effect, then) => {
  const harness = createChainHarness();
  const probe = () => ({ kind: "unknown" }) as const;
  const agent = scriptedAgent({ effect, run: () => 1, ...(effect === "probed" ? { probe } : {}) });
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  expect((await show(harness.world, run))?.label).toBe("running tools");
  await harness.runAttempt(agent);
  const label = `waiting until no earlier request can take effect: then act (c1) ${then}`;
  expect((await show(harness.world, run))?.label).toBe(label);
});
