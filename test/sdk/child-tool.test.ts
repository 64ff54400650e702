/** What `childTool` and `defineAgent` accept of a child tool, and what they refuse. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { AgentInvalid, childTool, defineAgent, scriptedModel } from "../../src/index.ts";

type Options = Parameters<typeof childTool>[0];

const child = (change: Partial<Options> = {}) =>
  childTool({
    ...{ agent: "worker", description: "asks a worker", input: z.object({ part: z.number() }) },
    budget: { beats: 5 },
    ...change,
  });

const agent = (tool: ReturnType<typeof child>, budget: Parameters<typeof defineAgent>[0]["budget"] = {}) =>
  defineAgent({
    ...{ name: "boss", version: "1", instructions: "", task: z.object({}), budget, tools: { ask: tool } },
    model: scriptedModel({ name: "m", reply: () => ({ text: "over" }) }),
  });

test("a child tool has defaults, and its amounts are kept in the units of the ledger", () => {
  const made = child({ budget: { beats: 5, usd: 0.25, tokens: 900, toolCalls: 3, wall: "2m" } });
  expect(made.child).toEqual({
    ...{ agent: "worker", deadlineMs: 3_600_000, tries: 2, wait: true },
    grant: { beats: 5, microUsd: 250_000, tokens: 900, toolCalls: 3, wallMs: 120_000 },
  });
  expect(() => made.run({} as never)).toThrow("a child tool has no function of its own");
});

describe("an agent is refused whose child tool", () => {
  test.each([
    ["names no agent", { agent: "not a name" }, {}, /write the name of an agent/],
    ["has no time", { deadlineMs: 0 }, {}, /deadlineMs is 0: write 1 to/],
    ["has too much time", { deadlineMs: 1e12 }, {}, /deadlineMs is/],
    ["has no try", { tries: 0 }, {}, /tries is 0: write 1 to 3/],
    ["has too many tries", { tries: 4 }, {}, /tries is 4: write 1 to 3/],
    ["does not limit what its agent limits", {}, { usd: 1 }, /its agent limits usd, .* write budget.usd/],
    ["takes more than its agent has", { budget: { beats: 41 } }, {}, /more beats than its agent has: 40, the least of/],
    ["takes more money", { budget: { beats: 1, usd: 2 } }, { usd: 1 }, /more usd than the whole budget/],
  ] as const)("%s", (_, change, budget, why) => {
    expect(() => agent(child(change), budget)).toThrow(why);
    expect(() => agent(child(change), budget)).toThrow(AgentInvalid);
  });

  test.each([
    ["has no beats", {}],
    ["has an unknown meter", { beats: 1, hours: 2 }],
    ["has a negative amount", { beats: -1 }],
  ])("%s in its budget", (_, budget) => {
    expect(() => child({ budget: budget as never })).toThrow(/^the budget of a child tool for agent worker: /);
  });
});

test("an agent is accepted whose child tool limits what it limits", () => {
  expect(agent(child({ budget: { beats: 5, usd: 0.1 } }), { usd: 1 }).tools["ask"]?.child?.grant).toEqual({
    ...{ beats: 5, microUsd: 100_000 },
  });
});
