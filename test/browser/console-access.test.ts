/** The console for everyone: the rules of axe at both sizes and themes, offline and back, and thousands of runs. */
import { expect, test } from "vitest";
import { createCliFolder, startQueuedRun } from "../support/processes/cli-process.ts";
import { smallTargets, violationsOf } from "./axe.ts";
import { openPage, startServer } from "./harness.ts";

test.each([
  [1280, "light"],
  [1280, "dark"],
  [390, "light"],
  [390, "dark"],
] as const)("breaks no rule of axe at %i px, %s", async (width, colorScheme) => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "pay");
  const { url } = await startServer(at);
  // The policy of the page refuses injected code, so the rules come by a way that ignores it.
  const { page } = await openPage({ viewport: { width, height: 780 }, colorScheme, bypassCSP: true });
  await page.goto(url);
  await expect.poll(() => page.getByRole("link", { name: /Needs me/ }).innerText()).toContain("1");
  const found: string[] = [];
  const places = [
    "runs",
    "needs",
    `run/${run}`,
    `run/${run}?tab=transcript`,
    `run/${run}?tab=state`,
    `run/${run}?tab=cost`,
  ];
  for (const place of [...places, "schedules", "agents/clerk", "health", "settings"]) {
    await page.goto(`${url}/#/${place}`);
    await expect.poll(() => page.locator("main h1, main h2").first().isVisible()).toBe(true);
    await expect.poll(() => page.locator("[aria-busy]").count()).toBe(0);
    found.push(...(await violationsOf(page)).map((each) => `${place}: ${each}`));
    if (width === 390) found.push(...(await smallTargets(page, "body")).map((each) => `${place}: small: ${each}`));
    const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
    if (overflow > 0) found.push(`${place}: ${overflow} px wider than the window`);
  }
  expect(found).toEqual([]);
});

test("says that the server is away, keeps what it shows, and heals", async () => {
  const at = createCliFolder();
  await startQueuedRun(at, "note");
  const { url } = await startServer(at);
  const { page } = await openPage();
  await page.goto(url);
  await expect.poll(() => page.getByRole("listitem").count()).toBe(1);
  await page.context().setOffline(true);
  await expect.poll(() => page.locator(".live").innerText()).toContain("reconnecting");
  await expect.poll(() => page.locator("main").innerText()).toContain("the server does not answer");
  expect(await page.getByRole("listitem").count()).toBe(1);
  await page.context().setOffline(false);
  await expect.poll(() => page.locator(".live").innerText()).toBe("live");
});

test("takes an answer that breaks off for a failed request", async () => {
  const { url } = await startServer(createCliFolder());
  const { page } = await openPage();
  await page.route(/\/agents$/, (route) => route.fulfill({ contentType: "application/json", body: '{"agents":[' }));
  await page.goto(`${url}/#/agents`);
  await expect.poll(() => page.locator("main").innerText()).toContain("The answer of the server broke off");
  await page.unrouteAll();
  await page.reload();
  await expect.poll(() => page.locator("main").innerText()).toContain("clerk");
});

test("holds thousands of runs, and draws only the rows in sight", async () => {
  const { url } = await startServer(createCliFolder());
  const { page } = await openPage();
  const runs = Array.from({ length: 5_000 }, (_, index) => ({
    ...{
      run: `local-${index}`,
      agent: "clerk",
      agentVersion: "1",
      status: "completed",
      phase: "Completed",
      inProgress: false,
    },
    ...{ resumable: false, version: 3, epoch: 1, beats: 2, takeovers: 0, createdAt: 1e12 - index, statusSince: 1e12 },
    ...{ lastCheckpointAt: 1e12, wakeAt: null, storeOutage: null, spent: { usd: 0.01, tokensIn: 1, tokensOut: 1 } },
    ...{ budget: [], signals: [], isScheduled: false },
  }));
  await page.route(/\/runs\?limit=/, (route) => {
    const from = Number(new URL(route.request().url()).searchParams.get("after") ?? 0);
    const next = from + 500 < runs.length ? String(from + 500) : null;
    const part = { kind: "listed", runs: runs.slice(from, from + 500), damaged: [], more: next !== null, next };
    return route.fulfill({ json: part });
  });
  await page.goto(url);
  await expect.poll(() => page.getByRole("button", { name: /^All/ }).innerText()).toContain("5000");
  expect(await page.getByRole("listitem").count()).toBeLessThan(60);
  await page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector(".list");
    let count = 0;
    const step = () => {
      count += 1;
      list.scrollTop = (list.scrollHeight * count) / 60;
      if (count < 60) requestAnimationFrame(step);
      else resolve();
    };
    requestAnimationFrame(step);
  })`);
  await expect.poll(() => page.getByRole("listitem").last().innerText()).toContain("local-4999");
});
