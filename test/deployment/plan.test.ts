/** The plan that an `sst.config.ts` uses, made by another process. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FUNCTIONS } from "../../infra/bundle.ts";
import { planned } from "../../infra/planned.ts";

const CONFIG = `
  import { defineAgent, childTool, scriptedModel } from "cairn-run";
  import { z } from "zod";
  const model = scriptedModel({ name: "m", reply: () => ({ text: "" }) });
  const common = { version: "1", instructions: "", task: z.object({}), model, price: { inUsd: 1, outUsd: 1 } };
  const ask = childTool({ agent: "worker", description: "", input: z.object({}), budget: { beats: 1 } });
  export const worker = defineAgent({ ...common, name: "worker", tools: {} });
  export const boss = defineAgent({ ...common, name: "boss", tools: { ask } });
  export const config = { agents: ["./cairn.config.ts"] };`;

test("a separate process makes the plan of a deployment as one document", () => {
  // In the checkout, where `cairn-run` and its packages are found. Git and the linter pass over such a name.
  const root = mkdtempSync(join(import.meta.dirname, ".cairn-planned-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, "cairn.config.ts"), CONFIG);
  const platform = join(import.meta.dirname, "..", "..", ".sst", "platform");
  const plan = planned({ name: "Cairn", root, platform, config: "." });
  expect(plan).toMatchObject({ schedules: [], beatSeconds: expect.any(Number), limits: {} });
  // Agents of one deployment do not share processes, so each has a beat function of its own.
  expect(Object.keys(plan.folders).toSorted()).toEqual([...FUNCTIONS, "beat_boss", "beat_worker"].toSorted());
  for (const folder of Object.values(plan.folders)) expect(existsSync(join(folder, "index.mjs"))).toBe(true);
});
