/** A mistyped option is answered with the one that was meant, wherever options are written. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolLoopAgent } from "ai";
import { expect, test } from "vitest";
import * as z from "zod";
import * as cairn from "../../src/index.ts";
import { mcpServer } from "../../src/mcp-tools/index.ts";
import { loadConfig } from "../../src/sdk/config.ts";

const model = cairn.scriptedModel({ name: "m", reply: () => ({ text: "done" }) });
const valid = { name: "a", version: "1", model, instructions: "Be brief.", task: z.object({}), tools: {} };
const ofTool = { description: "Echoes.", input: z.object({}), effect: "unsafe", run: () => null } as const;
const { instructions, ...withoutInstructions } = valid;
const { effect, ...withoutEffect } = ofTool;

test.each<readonly [string, string, () => unknown]>([
  [
    "instrutions",
    "instructions",
    () => cairn.defineAgent({ ...withoutInstructions, instrutions: instructions } as never),
  ],
  ["efect", "effect", () => cairn.tool({ ...withoutEffect, efect: effect } as never)],
  ["Tools", "tools", () => cairn.defineAgent({ ...valid, Tools: {} } as never)],
  ["beat", "beats", () => cairn.defineAgent({ ...valid, budget: { beat: 3 } as never })],
  ["temprature", "temperature", () => cairn.defineAgent({ ...valid, modelOptions: { temprature: 1 } as never })],
  ["afer", "after", () => cairn.defineAgent({ ...valid, deadline: { afer: "2h" } as never })],
  ["maxbeats", "maxBeats", () => cairn.react({ maxbeats: 3 } as never)],
  ["timelimit", "timeLimit", () => cairn.askHuman({ answer: z.string(), timelimit: "2d" } as never)],
  ["comand", "command", () => mcpServer({ name: "desk", comand: "node" } as never)],
  [
    "instruction",
    "instructions",
    () =>
      cairn.fromToolLoopAgent(new ToolLoopAgent({ model: "a/b", instruction: "Be brief." } as never), {
        ...valid,
      } as never),
  ],
])("%s is answered with %s", (wrong, meant, define) => {
  let said = "nothing";
  try {
    define();
  } catch (error) {
    expect(error).toBeInstanceOf(cairn.AgentInvalid);
    said = error instanceof Error ? error.message : "";
  }
  expect(said).toContain(wrong);
  expect(said).toMatch(new RegExp(`(did you mean ${meant}\\?|, or write ${meant})$`));
});

test("an option of the config that is mistyped is answered with the one that was meant, also in a nested object", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cairn-config-"));
  try {
    writeFileSync(
      join(folder, "cairn.config.mjs"),
      "export const config = { agnets: [], agents: [], deploy: { memoryMB: 512 } };\n",
    );
    await expect(loadConfig(folder)).rejects.toThrow(
      /config\.deploy: there is no "memoryMB": did you mean memoryMb\?[^]*config: there is no "agnets": did you mean agents\?/,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("what is close to no option is answered with all of them", () => {
  expect(() => cairn.react({ colour: "red" } as never)).toThrow(
    /^react has no option "colour": take it out, or write one of maxBeats, onContradiction/,
  );
});
