/** Every dialog of the console, in both themes and at both sizes: axe, sizes for a finger, and where the focus is. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createCliFolder, startQueuedRun } from "../support/processes/cli-process.ts";
import { smallTargets, violationsOf } from "./axe.ts";
import { openPage, startServer, waitForRun } from "./harness.ts";

const at = createCliFolder({}, afterAll);
let url = "";
let waiting = "";
let failed = "";

beforeAll(async () => {
  waiting = await startQueuedRun(at, "pay");
  failed = await startQueuedRun(at, "despair");
  ({ url } = await startServer(at));
  await waitForRun(url, failed, { status: "failed" });
  await waitForRun(url, waiting, { phase: "AwaitingApproval" });
});

interface Case {
  readonly name: string;
  readonly place: string;
  /** The button that opens it, or the keys. */
  readonly button?: string;
  readonly keys?: string;
}

const cases = (): readonly Case[] => [
  { name: "Find", place: "runs", keys: "Control+k" },
  { name: "Keys", place: "runs", keys: "?" },
  { name: "Act on runs", place: "runs", button: "Act on these runs…" },
  ...["Message", "Pause", "Assign", "Fork", "Restart", "Cancel", "Undo and cancel"].map((name) => ({
    ...{ name, place: `run/${waiting}`, button: name },
  })),
  { name: "Purge", place: `run/${failed}`, button: "Purge" },
];

async function open(page: Page, { place, name, button, keys }: Case): Promise<void> {
  if (page.url() !== `${url}/#/${place}`) await page.goto(`${url}/#/${place}`);
  await expect.poll(() => page.locator("main h1").first().isVisible()).toBe(true);
  await expect.poll(() => page.locator("[aria-busy]").count()).toBe(0);
  if (button !== undefined) {
    await page.getByRole("button", { name: button, exact: true }).focus();
    await page.keyboard.press("Enter");
  } else await page.keyboard.press(keys ?? "");
  await page.getByRole("dialog", { name, exact: true }).waitFor();
}

test.each([
  [1280, "light"],
  [1280, "dark"],
  [390, "light"],
  [390, "dark"],
] as const)("breaks no rule of axe in a dialog at %i px, %s", async (width, colorScheme) => {
  const { page, troubles } = await openPage({ viewport: { width, height: 780 }, colorScheme, bypassCSP: true });
  const found: string[] = [];
  for (const each of cases()) {
    await open(page, each);
    const dialog = page.getByRole("dialog", { name: each.name, exact: true });
    const command = dialog.locator("summary");
    if ((await command.count()) > 0) await command.first().click();
    found.push(...(await violationsOf(page, "dialog")).map((rule) => `${each.name}: ${rule}`));
    if (width === 390) found.push(...(await smallTargets(page, "dialog")).map((small) => `${each.name}: ${small}`));
    const box = await dialog.boundingBox();
    if (box === null || box.x < 0 || box.x + box.width > width || box.y < 0 || box.y + box.height > 780)
      found.push(`${each.name}: is not within the window`);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator("dialog").count()).toBe(0);
  }
  expect(found).toEqual([]);
  expect(troubles).toEqual([]);
});

test("a dialog keeps the focus, shows where it is, and gives it back to what opened it", async () => {
  const { page } = await openPage();
  for (const each of cases()) {
    await open(page, each);
    // In one question: the dialog takes the focus back from the page behind it at any time.
    const place = `(() => {
      const at = document.activeElement;
      const isPage = at === document.body;
      return [isPage || at.closest("dialog") !== null, isPage || getComputedStyle(at).outlineStyle !== "none"];
    })()`;
    for (let press = 0; press < 12; press += 1) {
      await page.keyboard.press(press === 5 ? "Shift+Tab" : "Tab");
      const [isWithin, isShown] = await page.evaluate<[boolean, boolean]>(place);
      expect({ name: each.name, isWithin, isShown }).toEqual({ name: each.name, isWithin: true, isShown: true });
    }
    // The keys of the page behind it do nothing.
    await page.keyboard.press("Control+k");
    expect(await page.getByRole("dialog").count()).toBe(1);
    const close = page.getByRole("dialog").getByRole("button", { name: "Close" });
    if ((await close.count()) > 0) await close.press("Enter");
    else await page.keyboard.press("Escape");
    await expect.poll(() => page.locator("dialog").count()).toBe(0);
    const back = await page.evaluate("document.activeElement.textContent");
    if (each.button !== undefined) expect(back).toBe(each.button);
  }
});

/** Asks the open dialog to close as Escape does, and clicks an action before the frame that fires its `close`. */
const CLOSE_AND_CLICK = (name: string): string => `(async () => {
  const button = [...document.querySelectorAll("button")].find((each) => each.textContent === ${JSON.stringify(name)});
  document.querySelector("dialog").requestClose();
  button.click();
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
})()`;

test("a click opens its dialog when it follows the Escape that closed another", async () => {
  const { page } = await openPage();
  await open(page, { name: "Message", place: `run/${waiting}`, button: "Message" });
  await page.evaluate(CLOSE_AND_CLICK("Pause"));
  const shown = await page.locator("dialog").evaluateAll((all) => all.map((each) => each.ariaLabel));
  expect(shown).toEqual(["Pause"]);
  await page.keyboard.press("Escape");
  await expect.poll(() => page.locator("dialog").count()).toBe(0);
});

test("asks for a token above everything else, and Escape does not take that away", async () => {
  const { page } = await openPage({ bypassCSP: true, viewport: { width: 390, height: 780 } });
  await page.route(/\/runs\?/, (route) =>
    route.fulfill({ status: 401, json: { code: "Unauthenticated", detail: "the request has no access token" } }),
  );
  await page.goto(url);
  const dialog = page.getByRole("dialog", { name: "Sign in" });
  await dialog.waitFor();
  expect({ violations: await violationsOf(page, "dialog"), smallTargets: await smallTargets(page, "dialog") }).toEqual({
    violations: [],
    smallTargets: [],
  });
  for (let press = 0; press < 3; press += 1) await page.keyboard.press("Escape");
  await expect.poll(() => dialog.isVisible()).toBe(true);
  await page.keyboard.type("a token");
  expect(await dialog.getByLabel("Access token").inputValue()).toBe("a token");
});
