/** The console in a real Chromium, over a real server. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createCliFolder, runCairnJson, startQueuedRun } from "../support/processes/cli-process.ts";
import { openPage, startServer } from "./harness.ts";

test("shows a run from its row to its end, under its strict policy, and asks no other origin", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "note");
  const { url } = await startServer(at);
  const { page, troubles } = await openPage();
  const origins = new Set<string>();
  page.on("request", (request) => void origins.add(new URL(request.url()).origin));
  await page.goto(url);
  await expect.poll(() => page.getByRole("listitem").innerText()).toContain("completed");
  await page.getByRole("listitem").getByRole("link").click();
  await expect.poll(() => page.getByRole("region", { name: "Events" }).innerText()).toContain("Beat 1");
  expect(page.url()).toBe(`${url}/#/run/${run}`);
  for (const view of ["Transcript and ledger", "Why", "State", "Cost", "Children and messages", "Audit log"]) {
    await page.getByRole("link", { name: view }).click();
    await expect.poll(() => page.locator("h2").first().isVisible()).toBe(true);
  }
  expect(troubles).toEqual([]);
  expect([...origins]).toEqual([url]);
});

test("filters by version and by what runs wait for, by keyboard, and a link restores it", async () => {
  const at = createCliFolder();
  const waiting = await startQueuedRun(at, "pay");
  await startQueuedRun(at, "note");
  const { url } = await startServer(at);
  const { page, troubles } = await openPage();
  await page.goto(url);
  const rows = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringContaining("completed"), expect.anything()]);
  await expect.poll(() => page.getByRole("button", { name: /^Needs me/ }).innerText()).toContain("1");
  await page.getByLabel("Agent version").focus();
  await page.keyboard.type("Version 1");
  await page.getByLabel("What it does").focus();
  await page.keyboard.type("waiting for a human");
  await expect.poll(() => rows.count()).toBe(1);
  expect(await rows.getByRole("link").getAttribute("href")).toContain(waiting);
  expect(page.url()).toContain("version=1&phase=AwaitingApproval");
  await page.goto(`${url}/#/runs?version=7`);
  await expect.poll(() => page.locator("main").innerText()).toContain("No run matches these filters");
  expect(await page.getByLabel("Agent version").inputValue()).toBe("7");
  expect(troubles).toEqual([]);
});

test("reads out the cost of each beat by pointer and by keyboard, in the colours of the theme", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "note", "mail");
  const { url } = await startServer(at);
  const { page, troubles } = await openPage({ colorScheme: "dark", reducedMotion: "reduce" });
  await page.goto(`${url}/#/run/${run}?tab=cost`);
  const chart = page.getByRole("slider", { name: "Cost of each beat" });
  await expect.poll(() => chart.getAttribute("aria-valuemax")).toBe("3");
  const colour = (): Promise<string> => page.evaluate("getComputedStyle(document.querySelector('.steps')).stroke");
  const dark = await colour();
  await page.emulateMedia({ colorScheme: "light" });
  expect(await colour()).not.toBe(dark);
  await chart.focus();
  const readout = page.locator("figcaption");
  expect(await readout.innerText()).toContain("3 beats; the dearest is beat ");
  await page.keyboard.press("End");
  expect(await readout.innerText()).toContain("Beat 3: $");
  await page.keyboard.press("ArrowLeft");
  expect(await chart.getAttribute("aria-valuetext")).toContain("Beat 2: $");
  await page.keyboard.press("Escape");
  expect(await readout.innerText()).toContain("3 beats");
  await chart.hover({ position: { x: 2, y: 20 } });
  expect(await readout.innerText()).toContain("Beat 1: $");
  expect(troubles).toEqual([]);
});

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

test("starts a scheduled agent now, opens its run, and pauses the schedule", async () => {
  const at = createCliFolder();
  writeFileSync(join(at.dir, "nightly.ts"), NIGHTLY);
  writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./nightly.ts"] };\n');
  const { url } = await startServer(at);
  const { page, troubles } = await openPage({ colorScheme: "dark" });
  await page.goto(`${url}/#/schedules`);
  await page.getByRole("button", { name: "Run now" }).click();
  await page.getByRole("link", { name: "its run" }).click();
  await expect.poll(() => page.getByRole("region", { name: "Run" }).innerText()).toContain("completed");
  const run = page.url().split("/").at(-1) ?? "";
  expect(await runCairnJson(at, ["show", run])).toMatchObject({ agent: "nightly", result: "good night" });
  await page.goto(`${url}/#/schedules`);
  await page.getByRole("button", { name: "Pause" }).click();
  await expect.poll(() => page.locator("main").innerText()).toContain("Paused by");
  await page.getByRole("button", { name: "Resume" }).click();
  await expect.poll(() => page.getByRole("button", { name: "Pause" }).isVisible()).toBe(true);
  expect(troubles).toEqual([]);
});
