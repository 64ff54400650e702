/** The console in a real Chromium, over a real server. */
import { expect, test } from "vitest";
import { createCliFolder, startQueuedRun } from "../support/processes/cli-process.ts";
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
