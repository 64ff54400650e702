/** The console without a pointer: every page, every view of a run, and ten decisions in a row. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  LONG_TIMEOUTS,
  countMails,
  createCliFolder,
  killPausedProcess,
  runCairnJson,
} from "../support/processes/cli-process.ts";
import { smallTargets, violationsOf } from "./axe.ts";
import { openPage, startServer, waitForRun } from "./harness.ts";

/** Starts a run of `clerk` by the API. */
async function start(url: string, ...steps: readonly string[]): Promise<string> {
  const body = JSON.stringify({ agent: "clerk", input: { steps } });
  const answer = await fetch(`${url}/runs`, { method: "POST", body, headers: { "content-type": "application/json" } });
  return ((await answer.json()) as { readonly run: string }).run;
}

const FOCUSED = `(() => {
  const at = document.activeElement;
  return (at.getAttribute("aria-label") ?? (at.labels?.[0]?.innerText || at.innerText) ?? "").trim();
})()`;

/** Presses Tab until what has the focus is called so, and checks that each stop shows the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let press = 0; press < 60; press += 1) {
    await page.keyboard.press("Tab");
    const isShown = await page.evaluate<boolean>(
      "document.activeElement === document.body || getComputedStyle(document.activeElement).outlineStyle !== 'none'",
    );
    const focused = await page.evaluate<string>(FOCUSED);
    expect({ focused, isShown }).toEqual({ focused, isShown: true });
    if (name.test(focused)) return;
  }
  throw new Error(`Tab never came to ${String(name)}`);
}

const main = (page: Page) => page.locator("main");

test("goes from the list to each view of a run, to the reason of an event, and back", async () => {
  const at = createCliFolder();
  const { url } = await startServer(at);
  const run = await start(url, "despair");
  await start(url, "note");
  await waitForRun(url, run, { status: "failed" });
  const { page, troubles } = await openPage();
  await page.goto(url);
  await expect.poll(() => page.getByRole("listitem").count()).toBe(2);
  await page.keyboard.press("/");
  await page.keyboard.type(run.slice(6, 14));
  await expect.poll(() => page.getByRole("listitem").count()).toBe(1);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  const events = page.getByRole("region", { name: "Events" });
  await expect.poll(() => events.innerText()).toContain("there is no hope");
  for (const view of [
    "Transcript and ledger",
    "Why",
    "State",
    "Cost",
    "Children and messages",
    "Audit log",
    "Timeline",
  ]) {
    await page.evaluate("document.activeElement.blur()");
    await tabTo(page, new RegExp(`^${view}$`));
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".tabs [aria-current]").innerText()).toBe(view);
    await expect.poll(() => page.locator("[aria-busy]").count()).toBe(0);
  }
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await expect.poll(() => page.evaluate("document.activeElement.closest('[data-row]')?.dataset.row")).toBe("1");
  await tabTo(page, /^why$/);
  await page.keyboard.press("Enter");
  await expect.poll(() => page.locator(".picked-row").first().innerText()).toContain("there is no hope");
  await page.goBack();
  await expect.poll(() => events.innerText()).toContain("there is no hope");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect.poll(() => main(page).innerText()).toContain("State at version");
  await page.goBack();
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await expect.poll(() => page.getByRole("listitem").count()).toBe(2);
  expect(troubles).toEqual([]);
});

test("decides ten approvals in a row, and no key decides an item that does not have the focus", async () => {
  const at = createCliFolder();
  const { url } = await startServer(at);
  const runs: string[] = [];
  for (let count = 0; count < 10; count += 1) runs.push(await start(url, "pay"));
  for (const run of runs) await waitForRun(url, run, { phase: "AwaitingApproval" });
  const { page, troubles } = await openPage();
  await page.goto(`${url}/#/needs`);
  await expect.poll(() => page.getByRole("article").count()).toBe(10);
  await expect.poll(() => page.evaluate<string>(FOCUSED)).toBe("Approve pay");
  // A key that is held, or pressed twice, is one decision.
  await page.keyboard.down("a");
  await page.keyboard.down("a");
  await page.keyboard.up("a");
  await page.keyboard.press("a");
  await expect.poll(() => page.locator("[data-need] [data-key=d]").count()).toBe(9);
  for (let left = 8; left >= 0; left -= 1) {
    // A press counts when the one before can no longer be meant.
    const press = async (): Promise<number> => {
      await page.locator("[data-need]:focus [data-key=d]").waitFor();
      await page.keyboard.press(left === 0 ? "d" : "a");
      return page.locator("[data-need] [data-key=d]").count();
    };
    await expect.poll(press).toBe(left);
  }
  await expect.poll(() => main(page).innerText()).toContain("Nothing waits for you");
  const ends = await Promise.all(runs.map(async (run) => (await runCairnJson(at, ["show", run]))["result"]));
  expect(ends.filter((end) => end === "done: succeeded")).toHaveLength(9);
  expect(ends.filter((end) => end === "done: failed")).toHaveLength(1);
  expect(troubles).toEqual([]);
});

test("changes arguments, and reconciles a call whose process died", async () => {
  const at = createCliFolder({ CAIRN_HOLD: "after:effect:mail", ...LONG_TIMEOUTS });
  const { url } = await startServer(at);
  const mail = await start(url, "mail");
  await killPausedProcess(at);
  const pay = await start(url, "pay");
  await waitForRun(url, pay, { phase: "AwaitingApproval" });
  await waitForRun(url, mail, { status: "blocked" });
  const { page, troubles } = await openPage({
    ...{ viewport: { width: 390, height: 780 }, colorScheme: "dark", bypassCSP: true },
  });
  await page.goto(`${url}/#/needs?run=${pay}`);
  await page.getByRole("article").waitFor();
  await tabTo(page, /^Change the arguments$/);
  await page.keyboard.press("Enter");
  await page.evaluate("document.activeElement.blur()");
  await tabTo(page, /^Arguments that run instead/);
  await page.keyboard.press("Control+a");
  await page.keyboard.type('{"step": 7}');
  expect({ violations: await violationsOf(page), smallTargets: await smallTargets(page, "body") }).toEqual({
    violations: [],
    smallTargets: [],
  });
  await tabTo(page, /^Approve with these arguments$/);
  await page.keyboard.press("Enter");
  await waitForRun(url, pay, { status: "completed" });
  await page.goto(`${url}/#/needs?run=${mail}`);
  await expect.poll(() => page.getByRole("article").innerText()).toContain("Look for this key");
  expect({ violations: await violationsOf(page), smallTargets: await smallTargets(page, "body") }).toEqual({
    violations: [],
    smallTargets: [],
  });
  await tabTo(page, /^It happened/);
  await page.keyboard.press("ArrowDown");
  expect(await page.evaluate<string>(FOCUSED)).toMatch(/^It did not happen/);
  await page.keyboard.press("ArrowUp");
  await tabTo(page, /^Note/);
  await page.keyboard.type("the letter arrived");
  await tabTo(page, /^Reconcile: it happened$/);
  await page.keyboard.press("Enter");
  await waitForRun(url, mail, { status: "completed" });
  expect(countMails(at)).toBe(1);
  expect(troubles).toEqual([]);
});

/** Starts each night, and does nothing. */
const NIGHTLY = `
import { defineAgent, scriptedModel } from "cairn-run";
import { z } from "zod";

export const nightly = defineAgent({
  ...{ name: "nightly", version: "1", instructions: "", task: z.object({ of: z.string() }), tools: {} },
  model: scriptedModel({ name: "nightly-model", reply: () => ({ text: "good night" }) }),
  schedule: { every: "cron(0 3 * * ? *)", input: { of: "all" } },
});
`;

/** What the map of keys has to say. `heading`: of the page to which they lead; null: other tests press them. */
const KEYS: readonly { readonly keys: string; readonly heading: string | null }[] = [
  { keys: "Ctrl K", heading: null },
  { keys: "g r", heading: "Runs" },
  { keys: "g n", heading: "Needs me" },
  { keys: "g s", heading: "Schedules" },
  { keys: "g a", heading: "Agents" },
  { keys: "g h", heading: "Health" },
  { keys: "g c", heading: "Settings" },
  ...["/", "j", "k", "Enter", "a", "d", "?"].map((keys) => ({ keys, heading: null })),
];

test("the map of keys is true, and leads to every page", async () => {
  const at = createCliFolder();
  writeFileSync(join(at.dir, "nightly.ts"), NIGHTLY);
  writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./nightly.ts"] };\n');
  const { url } = await startServer(at);
  const { page, troubles } = await openPage();
  await page.goto(url);
  await expect.poll(() => main(page).innerText()).toContain("There is no run yet");
  await page.keyboard.press("?");
  const map = page.getByRole("dialog", { name: "Keys" });
  expect(await map.locator("dt").allInnerTexts()).toEqual(KEYS.map(({ keys }) => keys));
  await page.keyboard.press("Escape");
  await expect.poll(() => map.count()).toBe(0);
  for (const { keys, heading } of KEYS) {
    if (heading === null) continue;
    for (const key of keys.split(" ")) await page.keyboard.press(key);
    await expect.poll(() => page.locator("h1").first().innerText()).toBe(heading);
  }
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await tabTo(page, /^Pause$/);
  await page.keyboard.press("Enter");
  await expect.poll(() => main(page).innerText()).toContain("Paused by");
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await tabTo(page, /^nightly/);
  await page.keyboard.press("Enter");
  await tabTo(page, /^of/);
  await page.keyboard.type("one");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByRole("region", { name: "Run" }).innerText()).toContain("completed");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("fork");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Fork" }).waitFor();
  await page.keyboard.press("Escape");
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("schedules");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.locator("h1").innerText()).toBe("Schedules");
  expect(troubles).toEqual([]);
});
