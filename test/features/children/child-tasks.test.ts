/** The task of a child: parsed once, and shown to whoever approves it. */
import { expect, test } from "vitest";
import { z } from "zod";
import { childTool, defineAgent, scriptedModel } from "../../../src/index.ts";
import { show } from "../../../src/operations/views.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { runAgent } from "../../../src/testing/kit/index.ts";
import { decideGate } from "../../support/agents/approval-agent.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { createHarness } from "../../support/harness/harness.ts";

/** Each parse makes another stamp. `isShared`: tool and agent have one schema. */
function family(isShared: boolean) {
  let parses = 0;
  const schema = () => z.object({ part: z.number(), stamp: z.number().default(() => (parses += 1)) });
  const task = schema();
  const tasks: unknown[] = [];
  const child = defineAgent({
    ...{ name: "worker", version: "1", instructions: "", task },
    model: scriptedModel({ name: "worker", reply: () => ({ text: "done" }) }),
    tools: {},
    result: ({ task: given }) => {
      tasks.push(given);
      return given as { readonly part: number };
    },
  });
  const seen: unknown[] = [];
  const parent = defineAgent({
    ...{ name: "boss", version: "1", instructions: "", task: z.object({}) },
    model: scriptedModel({
      name: "boss",
      reply: ({ calls }) =>
        calls.length === 0 ? { calls: [{ tool: "work", args: { part: 1 } }] } : { text: "it is all done" },
    }),
    tools: {
      work: childTool({
        ...{ agent: "worker", description: "works", input: isShared ? task : schema(), budget: { beats: 5 } },
        approval: (given) => {
          seen.push(given);
          return "it is work";
        },
        mayEcho: true,
      }),
    },
  });
  return { parent, child, tasks, seen };
}

test.each([true, false])("a child gets the task of the card (one schema: %s)", async (isShared) => {
  const harness = createHarness();
  const { parent, child, seen } = family(isShared);
  const agents = [parent, child] as unknown as readonly Agent[];
  const runner = runnerOf(harness.world, agents);
  const parked = await drive(runner, await beginRun(harness.world, parent as Agent, {}));
  const [gate] = (await show(harness.world, parked.run))?.gates ?? [];
  expect(gate?.parsed).toMatchObject({ as: "value", dropped: [] });
  if (isShared) expect(gate?.parsed?.json).toEqual(seen[0]);
  await decideGate(harness.world, { run: parked.run, as: "approve" });
  await drive(runner, parked);
  const { children = [] } = (await show(harness.world, parked.run)) ?? {};
  const [made] = children;
  expect((await show(harness.world, made?.run ?? ""))?.task).toEqual(gate?.parsed?.json);
});

test("a child gets one task, with a kill at each moment of its parent and of itself", async () => {
  const { parent, child, tasks } = family(true);
  const options = { input: {}, agents: [child as Agent] } as const;
  const { points } = await runAgent(parent, options);
  for (const killAt of points) {
    tasks.length = 0;
    const run = await runAgent(parent, { ...options, killAt });
    expect({ status: run.status, differentTasks: new Set(tasks.map((task) => JSON.stringify(task))).size }).toEqual({
      status: "completed",
      differentTasks: 1,
    });
  }
});
