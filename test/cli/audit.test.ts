/** `cairn audit` as a command: it refuses the agents that `start` refuses. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLocalHarness } from "../support/harness/drive.ts";
import { runCli } from "../support/processes/cli-in-process.ts";

const ROOT = join(import.meta.dirname, "..", "..");

test("refuses an agent whose tool takes longer than a beat, like start does", async () => {
  const { dir } = createLocalHarness();
  mkdirSync(join(dir, "node_modules"));
  symlinkSync(ROOT, join(dir, "node_modules", "cairn-run"));
  symlinkSync(join(ROOT, "node_modules", "zod"), join(dir, "node_modules", "zod"));
  writeFileSync(join(dir, "package.json"), '{ "type": "module" }');
  writeFileSync(
    join(dir, "slow.ts"),
    `import { defineAgent, scriptedModel, tool } from "cairn-run";
    import { z } from "zod";
    const wait = tool({ input: z.object({}), effect: "none", timeoutMs: 3_600_000, run: () => 1 });
    const model = scriptedModel({ name: "m", reply: () => ({ text: "over" }) });
    export const slow = defineAgent({ name: "slow", version: "1", instructions: "", task: z.object({}), model, tools: { wait } });
    `,
  );
  const refused = { exit: 2, err: expect.stringMatching(/error AgentInvalid: .*wait/) as string };
  expect(await runCli(dir, "start", "./slow.ts")).toMatchObject(refused);
  expect(await runCli(dir, "audit", "./slow.ts")).toMatchObject(refused);
});
