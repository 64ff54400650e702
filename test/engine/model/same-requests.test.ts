/** What a model is asked does not depend on which process asks: one that kept the run in memory, or one that read it. */
import { expect, test } from "vitest";
import * as z from "zod";
import type { Agent } from "../../../src/ports/agent.ts";
import { defineAgent, tool } from "../../../src/sdk/define.ts";
import { scriptedModel } from "../../../src/sdk/scripted.ts";
import { beginRun, runnerOf } from "../../support/harness/drive.ts";
import { createHarness } from "../../support/harness/harness.ts";
import { runBeats } from "../../support/runs/long-runs.ts";

/** An agent whose arguments and results have names out of order, and the requests of its model as text. */
function noted(): { readonly agent: Agent; readonly asked: string[] } {
  const asked: string[] = [];
  const model = scriptedModel({
    name: "script",
    reply: ({ turn }) => ({
      text: "and so",
      calls: [{ tool: "look", args: { where: "there", at: { z: 1, b: turn } } }],
    }),
  });
  const noting = {
    ...model,
    doGenerate: async (options: Parameters<typeof model.doGenerate>[0]) => {
      asked.push(JSON.stringify(options.prompt));
      return model.doGenerate(options);
    },
  };
  const agent = defineAgent({
    name: "orderly",
    version: "1",
    instructions: "look",
    task: z.object({}),
    loops: "ignore",
    model: noting,
    tools: {
      look: tool({
        input: z.looseObject({}),
        effect: "none",
        run: ({ input }) => ({ z: { y: 1, x: 2 }, saw: input, a: [{ d: 1, c: 2 }], 10: "ten", 9: "nine" }),
      }),
    },
  }) as Agent;
  return { agent, asked };
}

test("a process that kept the run sends the same requests as processes that read it, one for each beat", async () => {
  const [warm, cold] = [noted(), noted()];
  const [one, other] = [createHarness(), createHarness()];
  await runBeats(runnerOf(one.world, warm.agent), await beginRun(one.world, warm.agent, {}), 4);
  let payload = await beginRun(other.world, cold.agent, {});
  for (let beats = 0; beats < 4; beats += 1) {
    payload = await runBeats(runnerOf(other.world, cold.agent), payload, 1);
  }
  expect(warm.asked).toHaveLength(4);
  expect(warm.asked).toEqual(cold.asked);
});
