/** The page of a run answers at once what it was asked, when each thing happened, and how it is started again. */
import { expect, test } from "vitest";
import { createCliFolder, startQueuedRun } from "../support/processes/cli-process.ts";
import { openPage, startServer, waitForRun } from "./harness.ts";

test("a failed run shows its task, its times, and a link that starts it again with its input", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "note", "despair");
  const { url } = await startServer(at);
  await waitForRun(url, run, { status: "failed" });
  const { page, troubles } = await openPage();
  await page.goto(`${url}/#/run/${run}`);
  await expect.poll(() => page.locator(".verdict.failed").innerText()).toContain("NotDone");
  const first = page.getByRole("region", { name: "Events" }).getByRole("listitem").first();
  await expect.poll(() => first.innerText()).toMatch(/\d\d:\d\d:\d\d\s+started with agent version 1/);
  await page.getByRole("link", { name: "Start again with this input" }).click();
  const steps = page.getByLabel("steps");
  await expect.poll(() => steps.inputValue()).toBe('["note","despair"]');
  await steps.fill('["note"]');
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await expect.poll(() => page.getByRole("status").allInnerTexts()).toContain("Completed for $0.02.");
  await expect.poll(() => page.locator(".task").innerText()).toMatch(/task[^]*\["note"\][^]*result[^]*done: succeeded/);
  expect(troubles).toEqual([]);
});

test("an approval shows the task and what the tools gave before", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "note", "pay");
  const { url } = await startServer(at);
  await waitForRun(url, run, { phase: "AwaitingApproval" });
  const { page } = await openPage();
  await page.goto(`${url}/#/needs`);
  const card = page.locator(".need").first();
  await expect.poll(() => card.innerText()).toMatch(/task\s+\{"steps": \["note", "pay"\]\}\s+note c1\s+noted step 1/);
});

test("an empty list names the agents that can be started", async () => {
  const { url } = await startServer(createCliFolder());
  const { page } = await openPage();
  await page.goto(url);
  await page.getByRole("link", { name: "clerk" }).click();
  await expect.poll(() => page.getByRole("heading", { level: 1 }).innerText()).toBe("clerk");
});
