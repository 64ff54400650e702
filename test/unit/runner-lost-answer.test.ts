/** A commit that landed, whose sender never heard so, and whose run somebody else has claimed meanwhile. */
import { expect, test } from "vitest";
import { z } from "zod";
import type { Agent } from "../../src/agent/define.ts";
import { executionName } from "../../src/core/ids.ts";
import { defineAgent, scriptedModel, tool } from "../../src/index.ts";
import type { World } from "../../src/ports/world.ts";
import { attempt, begin, bench, runnerOf } from "../support/drive.ts";

test("schedule 47: it does not go on under the other one's epoch", async () => {
  const { world } = bench();
  let runs = 0;
  const agent = defineAgent({
    name: "actor",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "actor-model",
      reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "act", args: {} }] } : { text: "over" }),
    }),
    tools: { act: tool({ input: z.object({}), effect: "keyed", run: () => (runs += 1) }) },
  }) as Agent;
  const payload = await begin(world, agent, {});
  const { run, born, chain } = payload;
  let copies = 0;
  const lossy: World = {
    ...world,
    table: {
      ...world.table,
      commit: async (commit) => {
        const outcome = await world.table.commit(commit);
        copies += 1;
        if (copies > 1) return outcome;
        const entry = { execution: executionName(run, born, chain), epoch: 0, retry: 1 };
        const now = Date.now();
        await world.table.claim({ run, born, chain, entry, owner: "rival", leaseUntil: now + 60_000, now });
        return { kind: "ambiguous", why: "the answer was lost" };
      },
    },
  };
  expect(await attempt(runnerOf(lossy, agent), payload)).toMatchObject({ reply: { route: "superseded" } });
  expect(runs).toBe(0);
  expect(await world.table.read(run, Date.now())).toMatchObject({ epoch: 2, owner: "rival", version: 1 });
  expect(await attempt(runnerOf(world, agent), payload, 2)).toMatchObject({ reply: { route: "beat" } });
  expect(runs).toBe(1);
});
