/** The page of a run while nobody sees it, and after a read that failed, in a real Chromium. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { createCliFolder, runCairn, startQueuedRun } from "../support/processes/cli-process.ts";
import { openPage, startServer, waitForRun } from "./harness.ts";

const setVisibility = (page: Page, state: "hidden" | "visible"): Promise<void> =>
  page.evaluate(`Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));`);

test("a hidden tab ends the stream of its run and asks nothing, and reads at once when it is seen again", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "pay");
  const { url } = await startServer(at);
  await waitForRun(url, run, { phase: "AwaitingApproval" });
  const { page } = await openPage();
  await page.clock.install();
  const asked: string[] = [];
  const ended: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  page.on("requestfailed", (request) => ended.push(new URL(request.url()).pathname));
  await page.goto(`${url}/#/run/${run}`);
  await expect.poll(() => page.getByRole("region", { name: "Events" }).innerText()).toContain("asks for pay");
  await setVisibility(page, "hidden");
  await expect.poll(() => page.locator(".live").innerText()).toBe("paused");
  await expect.poll(() => ended).toContain(`/runs/${run}/events`);
  // What was under way when the tab was hidden.
  await page.clock.runFor(5_000);
  asked.length = 0;
  await page.clock.runFor(60_000);
  expect(asked).toEqual([]);
  await page.clock.pauseAt(Date.now() + 3_600_000);
  expect((await runCairn(at, ["approve", run, "c1"])).exit).toBe(0);
  await waitForRun(url, run, { status: "completed" });
  expect(asked).toEqual([]);
  await setVisibility(page, "visible");
  await expect.poll(() => asked).toEqual(expect.arrayContaining([`/runs/${run}`, `/runs/${run}/events`, "/approvals"]));
  await page.clock.resume();
  await expect.poll(() => page.getByRole("region", { name: "Events" }).innerText()).toContain("done: succeeded");
});

test("keeps the audit log beside the reason why it cannot be read, and reads it again", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "pay");
  const { url } = await startServer(at);
  await waitForRun(url, run, { phase: "AwaitingApproval" });
  const { page } = await openPage();
  let isAway = true;
  await page.route(/\/audit-log\?/, (route) =>
    isAway
      ? route.fulfill({ status: 503, json: { code: "StoreUnreachable", detail: "the store is away" } })
      : route.fallback(),
  );
  await page.goto(`${url}/#/run/${run}?tab=audit`);
  const problem = page.getByRole("alert");
  await expect.poll(() => problem.innerText()).toContain("the store is away");
  isAway = false;
  await page.getByRole("button", { name: "Read it again" }).click();
  const rows = page.getByRole("row", { name: /start/ });
  await expect.poll(() => rows.count()).toBe(1);
  expect(await problem.count()).toBe(0);
  isAway = true;
  expect((await runCairn(at, ["approve", run, "c1"])).exit).toBe(0);
  await expect.poll(() => problem.innerText()).toContain("the store is away");
  expect(await rows.count()).toBe(1);
});
