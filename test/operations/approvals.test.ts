/** The list of what waits for a human, of runs that a process is at: their last commits are in no snapshot. */
import * as z from "zod";
import { expect, onTestFinished, test } from "vitest";
import { defineAgent, scriptedModel, tool } from "../../src/index.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { listGates } from "../../src/operations/approvals.ts";
import { attemptBeat, beginRun, createLocalHarness, killableWorld, runnerOf } from "../support/harness/drive.ts";

test("a gate beside a call that still runs is listed, in a store that keeps journals beside the rows", async () => {
  const { world } = createLocalHarness();
  const reached = Promise.withResolvers<undefined>();
  const input = z.object({});
  const agent = defineAgent({
    ...{ name: "clerk", version: "1", instructions: "", task: z.object({}) },
    model: scriptedModel({
      name: "script",
      reply: () => ({
        calls: [
          { tool: "pay", args: {} },
          { tool: "slow", args: {} },
        ],
      }),
    }),
    tools: {
      pay: tool({ ...{ input, effect: "keyed", approval: "always" }, run: () => "paid" }),
      slow: tool({
        ...{ input, effect: "keyed" },
        run: () => {
          reached.resolve(undefined);
          return new Promise(() => undefined);
        },
      }),
    },
  }) as Agent;
  const payload = await beginRun(world, agent, {});
  // Its process is frozen in the tool for good.
  const beat = killableWorld(world);
  onTestFinished(beat.kill);
  void attemptBeat(runnerOf(beat.world, agent), payload);
  await reached.promise;
  const page = await listGates(world, { tenant: "local", after: null, bytesMax: null });
  expect(page.unreadable).toEqual([]);
  expect(page.gates).toMatchObject([{ run: payload.run, tool: "pay" }]);
});
