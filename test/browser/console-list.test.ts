/** A list of more runs than a page of the API holds, in a real Chromium: runs that move, a list that is scrolled, and what it leaves out. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { createCliFolder } from "../support/processes/cli-process.ts";
import { openPage, startServer } from "./harness.ts";

const PAGE = 500;

const runOf = (index: number, of: object = {}) => ({
  ...{ run: `local-${index}`, agent: "clerk", agentVersion: "1", status: "completed", phase: "Completed" },
  ...{ inProgress: false, resumable: false, version: 3, epoch: 1, beats: 2, takeovers: 0 },
  ...{ createdAt: 1e12 + index, statusSince: 1e12 + index, lastCheckpointAt: 1e12, wakeAt: null, storeOutage: null },
  ...{ spent: { usd: 0.01, tokensIn: 1, tokensOut: 1 }, budget: [], signals: [], isScheduled: false, parent: null },
  ...of,
});

/** Answers for the API with this many runs, the latest change of status first. `asked` has each cursor in order. */
async function serveRuns(page: Page, count: number) {
  const runs = new Map(Array.from({ length: count }, (_, index) => [index, runOf(index)]));
  const asked: (string | null)[] = [];
  await page.route(/\/runs\?limit=/, (route) => {
    const after = new URL(route.request().url()).searchParams.get("after");
    asked.push(after);
    const all = [...runs.values()].toSorted((one, other) => other.statusSince - one.statusSince);
    const behind = all.filter(({ statusSince }) => after === null || statusSince < Number(after));
    const next = behind.length > PAGE ? String(behind[PAGE - 1]?.statusSince) : null;
    const part = { kind: "listed", runs: behind.slice(0, PAGE), damaged: [], more: next !== null, next };
    return route.fulfill({ json: part });
  });
  return { runs, asked };
}

const newest = (page: Page) => page.getByRole("list", { name: "Runs" }).getByRole("listitem").first();

test("keeps an old run that waits for a human, and asks for two pages at a time", async () => {
  const { url } = await startServer(createCliFolder());
  const { page } = await openPage();
  const { runs, asked } = await serveRuns(page, 1_700);
  await page.goto(url);
  await expect.poll(() => page.getByRole("button", { name: /^All/ }).innerText()).toContain("1700");
  const first = String(runOf(1_200).statusSince);
  expect(asked.slice(0, 4)).toEqual([null, first, String(runOf(700).statusSince), String(runOf(200).statusSince)]);
  const blocked = { status: "blocked", phase: "AwaitingReconcile", inProgress: true, statusSince: 2e12 };
  runs.set(10, runOf(10, blocked));
  const needs = page.getByRole("button", { name: /^Needs me/ });
  await expect.poll(() => needs.innerText()).toContain("1");
  const begin = asked.length;
  const counts: string[] = [];
  // Two passes over the three pages behind the first.
  while (asked.length < begin + 12) {
    const before = asked.length;
    await expect.poll(() => asked.length).toBeGreaterThan(before);
    counts.push(await needs.innerText());
  }
  expect(new Set(counts.map((words) => /\d+/.exec(words)?.[0]))).toEqual(new Set(["1"]));
  expect(await page.getByRole("button", { name: /^All/ }).innerText()).toContain("1700");
  // Each turn begins with the first page, and each pass at the cursor of that page.
  const turns = asked.slice(4, 4 + 2 * Math.floor((asked.length - 4) / 2));
  expect(turns.filter((_, index) => index % 2 === 0)).toEqual(Array(turns.length / 2).fill(null));
  expect(turns.filter((_, index) => index % 2 === 1)).not.toContain(null);
  expect(turns).toContain(String(runOf(1_201).statusSince));
});

test("a scrolled list holds new runs back until it is shown again from its top", async () => {
  const { url } = await startServer(createCliFolder());
  const { page } = await openPage();
  const { runs } = await serveRuns(page, 300);
  await page.goto(url);
  await expect.poll(() => newest(page).innerText()).toContain("local-299");
  const scrollDown = async (): Promise<void> => {
    await page.evaluate("document.querySelector('.list').scrollTop = 2_000");
    await expect.poll(() => newest(page).innerText()).not.toContain("local-300");
  };
  await scrollDown();
  runs.set(300, runOf(300));
  const waiting = page.getByRole("button", { name: "1 new run" });
  await waiting.click();
  await expect.poll(() => newest(page).innerText()).toContain("local-300");
  await scrollDown();
  // A filter that matches no run takes the list away, and so its place.
  await page.goto(`${url}/#/runs?agent=other`);
  await expect.poll(() => page.locator("main").innerText()).toContain("No run matches these filters");
  runs.set(301, runOf(301, { agent: "other" }));
  await expect.poll(() => newest(page).innerText()).toContain("local-301");
  await page.goto(`${url}/#/runs`);
  await expect.poll(() => page.getByRole("listitem").count()).toBeGreaterThan(5);
  await expect.poll(() => newest(page).innerText()).toContain("local-301");
  expect(await page.getByRole("button", { name: /new run/ }).count()).toBe(0);
});

test("says that more may wait than the page reads, and not that nothing waits", async () => {
  const { url } = await startServer(createCliFolder());
  const { page } = await openPage();
  const { runs } = await serveRuns(page, 53);
  for (const index of runs.keys()) runs.set(index, runOf(index, { status: "blocked", phase: "AwaitingReconcile" }));
  let next: string | null = "waiting.next";
  await page.route(/\/approvals/, (route) =>
    route.fulfill({ json: { kind: "listed", gates: [], questions: [], unreadable: [], next } }),
  );
  await page.goto(`${url}/#/needs`);
  const main = page.locator("main");
  await expect.poll(() => main.innerText()).toContain("More runs may wait for you than this page reads");
  await expect.poll(() => main.innerText()).toContain("3 more blocked runs may need you");
  expect(await main.innerText()).not.toContain("Nothing waits for you");
  next = null;
  runs.clear();
  await expect.poll(() => main.innerText()).toContain("Nothing waits for you");
  expect(await main.innerText()).not.toContain("more");
});
