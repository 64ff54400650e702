/** Answers that are lost after the server acted: a second click in a real Chromium has no second effect. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { createCliFolder, runCairn, startQueuedRun } from "../support/processes/cli-process.ts";
import type { Listed } from "../../src/operations/list.ts";
import { openPage, startServer, waitForRun } from "./harness.ts";

/** Starts each night, and does nothing. */
const NIGHTLY = `
import { defineAgent, scriptedModel } from "cairn-run";
import { z } from "zod";

export const nightly = defineAgent({
  ...{ name: "nightly", version: "1", instructions: "", task: z.object({}), tools: {} },
  model: scriptedModel({ name: "nightly-model", reply: () => ({ text: "good night" }) }),
  schedule: { every: "cron(0 3 * * ? *)", input: {} },
});
`;

/** The server gets each POST of that path. Its first answer is lost on the way, or is a 503 instead. */
async function loseFirstAnswer(page: Page, path: RegExp, how: "abort" | 503): Promise<readonly string[]> {
  const keys: string[] = [];
  await page.route(path, async (route) => {
    if (route.request().method() !== "POST") return route.fallback();
    keys.push(route.request().headers()["idempotency-key"] ?? "");
    const response = await route.fetch();
    expect(response.ok()).toBe(true);
    if (keys.length > 1) return route.fulfill({ response });
    if (how === "abort") return route.abort("connectionreset");
    return route.fulfill({ status: 503, json: { code: "StoreUnreachable", detail: "its own words" } });
  });
  return keys;
}

test("starts one run, sends one message and forks once, although the first answer was lost", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "pay");
  writeFileSync(join(at.dir, "nightly.ts"), NIGHTLY);
  writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./clerk.ts", "./nightly.ts"] };\n');
  const { url } = await startServer(at);
  const runsOf = async (agent: string): Promise<number> => {
    const { runs } = (await (await fetch(`${url}/runs`)).json()) as Listed;
    return runs.filter((each) => each.agent === agent).length;
  };
  const { page } = await openPage();

  // A form that is not filled in yet is no mistake.
  await page.goto(`${url}/#/agents/clerk`);
  const steps = page.locator("form.start").getByLabel("steps");
  await expect.poll(() => steps.inputValue()).toBe("");
  expect(await page.locator("form.start").innerText()).not.toContain("is no JSON");
  await steps.fill("[");
  await expect.poll(() => page.locator("form.start").innerText()).toContain("steps is no JSON");

  const started = await loseFirstAnswer(page, /\/runs$/, "abort");
  await page.goto(`${url}/#/agents/nightly`);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await expect.poll(() => page.getByRole("alert").innerText()).toContain("it may have happened. Sending it again is");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await expect.poll(() => page.getByRole("region", { name: "Run" }).innerText()).toContain("completed");
  expect(started).toEqual([started[0], started[0]]);
  expect(started[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(await runsOf("nightly")).toBe(1);

  const again = await loseFirstAnswer(page, /\/schedules\/nightly\/runs$/, 503);
  await page.goto(`${url}/#/schedules`);
  await page.getByRole("button", { name: "Run now" }).click();
  await expect.poll(() => page.getByRole("alert").innerText()).toContain("The server answered 503");
  await page.getByRole("button", { name: "Run now" }).click();
  await page.getByRole("link", { name: "its run" }).first().waitFor();
  expect(await runsOf("nightly")).toBe(2);
  // Its outcome is known: the next click is another run.
  await page.getByRole("button", { name: "Run now" }).click();
  await expect.poll(() => again.length).toBe(3);
  await expect.poll(() => runsOf("nightly")).toBe(3);
  expect(new Set(again).size).toBe(2);

  const sent = await loseFirstAnswer(page, /\/messages$/, 503);
  await waitForRun(url, run, { phase: "AwaitingApproval" });
  await page.goto(`${url}/#/run/${run}`);
  await page.getByRole("button", { name: "Message" }).click();
  const message = page.getByRole("dialog", { name: "Message" });
  await message.getByLabel("Text for the model").fill("hurry up");
  await message.getByRole("button", { name: "Message" }).click();
  await expect.poll(() => message.getByRole("alert").innerText()).toContain("Sending it again is safe");
  await message.getByRole("button", { name: "Message" }).click();
  await expect.poll(() => message.count()).toBe(0);
  expect(sent).toEqual([sent[0], sent[0]]);

  const forked = await loseFirstAnswer(page, /\/fork$/, "abort");
  await page.getByRole("button", { name: "Fork" }).click();
  const fork = page.getByRole("dialog", { name: "Fork" });
  await fork.getByLabel("Version").fill("0");
  await fork.getByRole("button", { name: "Fork" }).click();
  await expect.poll(() => fork.getByRole("alert").innerText()).toContain("No answer came");
  await fork.getByRole("button", { name: "Fork" }).click();
  await expect.poll(() => page.url()).not.toContain(run);
  expect(forked).toEqual([forked[0], forked[0]]);
  expect(await runsOf("clerk")).toBe(2);

  expect((await runCairn(at, ["approve", run, "c1"])).exit).toBe(0);
  await waitForRun(url, run, { status: "completed" });
  await page.goto(`${url}/#/run/${run}?tab=transcript`);
  const transcript = page.getByRole("region", { name: "Transcript" });
  await expect.poll(() => transcript.innerText()).toContain("done: succeeded");
  expect((await transcript.innerText()).split("hurry up")).toHaveLength(2);
});
