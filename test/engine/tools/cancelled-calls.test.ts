/** What is recorded of a call whose signal a cancel has aborted. */
import { expect, test } from "vitest";
import * as z from "zod";
import { Rejected, defineAgent, tool } from "../../../src/index.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { ledger } from "../../../src/operations/views.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { scriptedModel } from "../../../src/sdk/scripted.ts";
import { startKeyedRun } from "../../support/harness/chain-steps.ts";
import { createChainHarness } from "../../support/harness/harness.ts";

test("a service that refuses a call after its signal was aborted has said how it went, and the call is not unknown", async () => {
  const harness = createChainHarness();
  let run = "";
  const write = tool({
    input: z.object({}),
    effect: "idempotent",
    run: async ({ signal }) => {
      await sendRequest(harness.world, { run, want: "cancel" });
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      throw new Rejected("the account is closed");
    },
  });
  const agent = defineAgent({
    ...{ name: "actor", version: "1", instructions: "", task: z.object({}), tools: { write } },
    model: scriptedModel({ name: "script", reply: () => ({ calls: [{ tool: "write", args: {} }] }) }),
  }) as Agent;
  ({ run } = await startKeyedRun(harness.world, { agent, key: "k" }));
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("cancelled");
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "failed", evidence: "the service refused it" }]);
});
