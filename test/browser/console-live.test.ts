/** The reply that streams in the console, in a real Chromium, over a real server whose worker is killed meanwhile. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HALTING_MODEL, killHaltedProcess } from "../support/agents/halting-model.ts";
import { LONG_TIMEOUTS, createCliFolder, runCairn, runCairnJson } from "../support/processes/cli-process.ts";
import { violationsOf } from "./axe.ts";
import { openPage, startServer } from "./harness.ts";

/** Waits for an approval, so that a page can be open before it speaks. It halts in the middle of its reply. */
const TALKER = `${HALTING_MODEL}
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

const words = Array.from({ length: 40 }, (_, index) => "word" + index).join(" ");

export const talker = defineAgent({
  ...{ name: "talker", version: "1", instructions: "Talk.", task: z.object({}) },
  model: halting(scriptedModel({
    name: "talker-model",
    reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "pay", args: {} }] } : { text: words + " end" }),
  }), "word20"),
  tools: { pay: tool({ input: z.object({}), effect: "keyed", approval: "always", run: () => "paid" }) },
});
`;

test("shows the reply that streams, marks it as lost when its process dies, and then has the whole reply", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  writeFileSync(join(at.dir, "talker.ts"), TALKER);
  writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./talker.ts"] };\n');
  const { url } = await startServer(at);
  const { page, troubles } = await openPage({
    ...{ viewport: { width: 390, height: 780 }, colorScheme: "dark", bypassCSP: true },
  });
  const { run } = await runCairnJson(at, ["start", "talker", "--input", "{}"]);
  await page.goto(`${url}/#/run/${String(run)}`);
  await expect.poll(() => page.locator(".verdict").innerText()).toContain("Waits for your approval of pay");
  await runCairn(at, ["approve", String(run)]);
  const live = page.getByRole("region", { name: "What the model says now" });
  await expect.poll(() => live.innerText()).toMatch(/not final.*word1\b/s);
  expect(await live.innerText()).not.toContain("end");
  expect(await violationsOf(page, ".live-text")).toEqual([]);
  await killHaltedProcess(at.dir);
  await expect.poll(() => live.innerText()).toContain("Lost with its process");
  expect(await violationsOf(page, ".live-text")).toEqual([]);
  writeFileSync(join(at.dir, "go"), "");
  await expect.poll(() => page.locator(".verdict").innerText()).toContain("Completed");
  await expect.poll(() => live.count()).toBe(0);
  expect(await runCairnJson(at, ["show", String(run)])).toMatchObject({
    result: expect.stringMatching(/^word0 .* end$/) as string,
  });
  expect(troubles).toEqual([]);
});
