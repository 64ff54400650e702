/** `checkAgent` reports the problems of an agent before it runs, and says what to write instead. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { checkAgent } from "../../src/sdk/check.ts";
import type { ModelChoice, Tool } from "../../src/ports/agent.ts";
import { defineAgent, tool } from "../../src/sdk/define.ts";
import { scriptedModel } from "../../src/sdk/scripted.ts";
import { mcpServer } from "../../src/mcp-tools/server.ts";
import { describeTools } from "../../src/engine/model/tool-schema.ts";
import { limitsFor } from "../../src/protocol/limits.ts";

const limits = limitsFor(30_000);
const script = scriptedModel({ name: "script", reply: () => ({}) });

const toolOf = (change: Partial<Parameters<typeof tool>[0]> = {}): Tool =>
  tool({ input: z.object({ id: z.string() }), effect: "none", run: () => null, ...change }) as unknown as Tool;

function check(book: Tool, model: ModelChoice = script): void {
  const task = z.object({});
  checkAgent(defineAgent({ name: "travel", version: "1", model, instructions: "", task, tools: { book } }), limits);
}

describe("checkAgent", () => {
  test("accepts an agent that fits its world", () => {
    expect(() => check(toolOf())).not.toThrow();
    expect(() => check(toolOf({ timeoutMs: 15_000, settleMs: 0 }))).not.toThrow();
    expect(() => check(toolOf(), "openai-compatible:http://127.0.0.1:11434/v1#llama3.2:3b")).not.toThrow();
  });

  test.each<[string, Parameters<typeof toolOf>[0], RegExp]>([
    [
      "a timeout that no beat has room for",
      { timeoutMs: 15_001 },
      /^agent travel: tool book may take 15001 ms, but a beat lasts 30000 ms.*timeoutMs to 15000 at most.*beatSeconds/,
    ],
    ["no time at all", { timeoutMs: 0 }, /^agent travel: tool book has timeoutMs 0: write a positive whole number/],
    ["half a millisecond", { timeoutMs: 0.5 }, /timeoutMs 0.5/],
    ["a negative time to settle", { settleMs: -1 }, /tool book has settleMs -1/],
    ["an input that has no JSON Schema", { input: z.object({ day: z.date() }) }, /tool book cannot be described.*Date/],
    ["an input that is no object", { input: z.string() }, /input of tool book is no object.*z\.object/],
    ["an input of several shapes", { input: z.union([z.object({}), z.object({})]) }, /tool book is no object/],
    ["no schema", { input: { type: "object" } as never }, /input of tool book is no zod 4 schema/],
    ["nothing at all", { input: undefined as never }, /input of tool book is no zod 4 schema/],
  ])("refuses a tool with %s", (_, change, message) => {
    expect(() => check(toolOf(change))).toThrow(message);
    expect(() => check(toolOf(change))).toThrow(expect.objectContaining({ code: "AgentInvalid" }) as Error);
  });

  test("refuses a server that may take longer to connect than a beat can wait", () => {
    const task = z.object({});
    const agentWith = (connectMs?: number) =>
      defineAgent({
        ...{ name: "travel", version: "1", model: script, instructions: "", task, tools: {} },
        mcp: [mcpServer({ name: "desk", command: "desk", ...(connectMs !== undefined && { connectMs }) })],
      });
    for (const fits of [undefined, 15_000]) expect(() => checkAgent(agentWith(fits), limits)).not.toThrow();
    expect(() => checkAgent(agentWith(15_001), limits)).toThrow(
      /^agent travel: MCP server desk has connectMs 15001, but a beat lasts 30000 ms.*connectMs to 15000 at most.*beatSeconds/,
    );
    // Its own time counts only where its author wrote it: a short beat waits for less than ten seconds by itself.
    expect(() => checkAgent(agentWith(), limitsFor(3_000))).not.toThrow();
  });

  test("refuses a topology of another copy of cairn that this one does not know", () => {
    const task = z.object({});
    const options = { name: "travel", version: "1", model: script, instructions: "", task, tools: {} };
    const agent = { ...defineAgent(options), topology: { kind: "ring", maxBeats: 3 } };
    expect(() => checkAgent(agent, limits)).toThrow(
      /^agent travel has the unknown topology "ring": write topology: react\(/,
    );
  });

  test("refuses a model that it does not understand", () => {
    expect(() => check(toolOf(), "gpt-5")).toThrow(/^agent travel: the model "gpt-5" is not understood/);
  });
});

test("requires the task to be a zod 4 schema", () => {
  const agent = defineAgent({
    name: "a",
    version: "1",
    model: script,
    instructions: "",
    task: z.object({}),
    tools: {},
  });
  const message = /^agent a: its task is not a zod 4 schema: write task/;
  expect(() => checkAgent({ ...agent, task: {} as never }, limits)).toThrow(message);
});

describe("describeTools", () => {
  test("describes the input of tools, not the output, and only once", () => {
    const trim = toolOf({
      description: "Trims.",
      input: z.strictObject({ words: z.string().transform((word) => word.length) }),
    });
    const described = describeTools({ trim });
    expect(described).toStrictEqual([
      {
        type: "function",
        name: "trim",
        description: "Trims.",
        inputSchema: {
          type: "object",
          properties: { words: { type: "string" } },
          required: ["words"],
          additionalProperties: false,
        },
      },
    ]);
    expect(describeTools({ trim })[0]?.inputSchema).toBe(described[0]?.inputSchema);
  });
});
