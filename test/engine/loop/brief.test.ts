/** What a row tells lists about its run: its limits as they hold now, its first signals, and its schedule. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { react, tool } from "../../../src/index.ts";
import { show } from "../../../src/operations/views.ts";
import { ANY_RUN, listRuns } from "../../../src/operations/list.ts";
import { beginRun } from "../../support/harness/drive.ts";
import { grantBudget, withBudget } from "../../support/agents/budget-gates.ts";
import { callsThenFinal, createChainHarness, scriptedAgent } from "../../support/harness/harness.ts";
import { playRun, roleAgent } from "../../support/runs/topology-run.ts";

describe("the limits in a row", () => {
  test("are those of its agent from the start, and rise with what an operator grants", async () => {
    const harness = createChainHarness();
    const budget = { beats: 2, onExhausted: "ask" } as const;
    const agent = withBudget(scriptedAgent({ reply: callsThenFinal(3) }), budget);
    const { run } = await beginRun(harness.world, agent, {});
    const beats = async () => (await show(harness.world, run))?.budget.find(({ meter }) => meter === "beats");
    expect(await beats()).toEqual({ meter: "beats", used: 0, limit: 2 });
    do await harness.runAttempt(agent);
    while (harness.row(run).park === null);
    expect(await beats()).toEqual({ meter: "beats", used: 2, limit: 2 });
    await grantBudget(harness.world, { run, more: { beats: 5 } });
    await harness.runUntilIdle(agent);
    expect(await beats()).toMatchObject({ limit: 7 });
    expect(harness.row(run).status).toBe("completed");
  });

  test("are those of the version that the next beat runs", async () => {
    const harness = createChainHarness();
    const agent = withBudget(scriptedAgent({ reply: callsThenFinal(3) }), { beats: 9 });
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runAttempt(agent);
    const later = { ...withBudget(agent, { beats: 6 }), version: "2" };
    await harness.runUntilIdle(later);
    expect(harness.row(run).brief?.limits).toMatchObject({ beats: 6 });
  });
});

test("a run that gave a first signal is found by it, and by nothing else", async () => {
  const look = tool({ input: z.object({}), effect: "none", run: () => 1 });
  let looked = 0;
  const { agent } = roleAgent(react({ maxBeats: 6 }), {
    ...{ tools: { look }, budget: { beats: 6 } },
    reply: ({ messages }) => {
      if (messages.at(-1)?.text.startsWith("You have to stop now") === true) return { text: "nothing" };
      looked += 1;
      return { calls: [{ tool: "look", args: {} }], text: `look ${looked}` };
    },
  });
  const { harness, shown } = await playRun(agent, {});
  expect(Object.keys(shown?.cracks ?? {})).toContain("runaway");
  expect(shown?.signals).toEqual(Object.keys(shown?.cracks ?? {}));
  const filter = {
    ...ANY_RUN,
    ...{ tenant: shown?.run.split("-")[0] ?? "", limit: 9, after: null },
  };
  expect((await listRuns(harness.world, { ...filter, crack: "runaway" })).runs).toMatchObject([{ run: shown?.run }]);
  expect((await listRuns(harness.world, { ...filter, crack: "bossDeath" })).runs).toEqual([]);
});
