/** Decisions in the console, in a real Chromium, over a real server whose processes are killed. */
import { expect, test } from "vitest";
import {
  LONG_TIMEOUTS,
  countMails,
  createCliFolder,
  killPausedProcess,
  runCairnJson,
  startQueuedRun,
} from "../support/processes/cli-process.ts";
import { openPage, startServer } from "./harness.ts";

test("approves by keyboard alone, and says that the run has not taken it yet", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "pay");
  const { url } = await startServer(at);
  const { page, troubles } = await openPage();
  await page.goto(url);
  await expect.poll(() => page.getByRole("link", { name: /Needs me/ }).innerText()).toContain("1");
  await page.keyboard.press("g");
  await page.keyboard.press("n");
  const card = page.getByRole("article", { name: "Approve pay" });
  await expect.poll(() => card.innerText()).toContain('"step": 1');
  await page.keyboard.press("a");
  await expect
    .poll(() => page.locator("main").innerText())
    .toMatch(/Accepted, waiting for the run|Nothing waits for you/);
  await expect.poll(() => page.locator("main").innerText()).toContain("Nothing waits for you");
  await expect.poll(async () => (await runCairnJson(at, ["show", run]))["result"]).toBe("done: succeeded");
  expect(troubles).toEqual([]);
});

test("runs the call with the arguments that a human changed, and denies with a note", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "pay", "pay");
  const { url } = await startServer(at);
  const { page } = await openPage({ viewport: { width: 390, height: 780 }, colorScheme: "dark" });
  await page.goto(`${url}/#/needs?run=${run}`);
  await page.getByRole("button", { name: "Change the arguments" }).click();
  await page.getByLabel("Arguments that run instead (JSON)").fill('{"step": "seven"}');
  await page.getByRole("button", { name: "Approve with these arguments" }).click();
  await expect.poll(() => page.getByRole("alert").innerText()).toContain("ArgumentsInvalid");
  await page.getByLabel("Arguments that run instead (JSON)").fill('{"step": 7}');
  await page.getByRole("button", { name: "Approve with these arguments" }).click();
  await expect.poll(() => page.getByRole("article").innerText()).toContain('"step": 2');
  await page.getByLabel(/Note/).fill("one payment is enough");
  await page.getByRole("button", { name: "Deny" }).click();
  await expect.poll(async () => (await runCairnJson(at, ["show", run]))["status"]).toBe("completed");
  await page.goto(`${url}/#/run/${run}?tab=transcript`);
  await expect.poll(() => page.getByRole("region", { name: "Transcript" }).innerText()).toContain("paid for step 7");
  expect(await page.getByRole("region", { name: "Transcript" }).innerText()).toContain("one payment is enough");
});

test("shows a process death as it happens, and the call that it leaves open is reconciled once", async () => {
  const at = createCliFolder({ CAIRN_HOLD: "after:effect:mail", ...LONG_TIMEOUTS });
  const run = await startQueuedRun(at, "mail");
  const { url } = await startServer(at);
  const { page } = await openPage();
  await page.goto(`${url}/#/run/${run}`);
  const events = page.getByRole("region", { name: "Events" });
  await expect.poll(() => events.innerText()).toContain("asks for mail (c1)");
  await killPausedProcess(at);
  await expect.poll(() => events.innerText()).toContain("took over");
  await page.getByRole("button", { name: "Reconcile" }).click();
  await expect.poll(() => page.getByRole("article").innerText()).toContain("Look for this key");
  await page.getByLabel("Note (for the record)").fill("the letter arrived");
  await page.getByRole("button", { name: "Reconcile: it happened" }).click();
  await expect.poll(async () => (await runCairnJson(at, ["show", run]))["status"]).toBe("completed");
  expect(countMails(at)).toBe(1);
});

test("cancels the runs that match, leaves out the one that was unchecked, and offers no second click", async () => {
  const at = createCliFolder();
  const spared = await startQueuedRun(at, "pay");
  const others = await Promise.all([startQueuedRun(at, "pay", "pay"), startQueuedRun(at, "pay", "note")]);
  const { url } = await startServer(at);
  const { page, troubles } = await openPage();
  await page.goto(`${url}/#/runs?group=needs`);
  await expect.poll(() => page.getByRole("listitem").count()).toBe(3);
  await page.getByRole("button", { name: "Act on these runs" }).click();
  const dialog = page.getByRole("dialog", { name: "Act on runs" });
  await dialog.getByLabel("Action").selectOption("cancel");
  await dialog.getByRole("checkbox", { name: spared }).uncheck();
  await dialog.getByLabel("Why (for the record)").fill("the shop is closed");
  await dialog.getByRole("button", { name: "Cancel 2" }).click();
  await expect.poll(() => dialog.getByRole("status").innerText()).toBe("2 of 2 answered, 0 refused");
  expect(await dialog.getByRole("button").allInnerTexts()).toEqual(["Close"]);
  await dialog.getByRole("button", { name: "Close" }).click();
  await expect.poll(() => page.getByRole("button", { name: "Cancelled" }).innerText()).toContain("2");
  expect(await page.getByRole("listitem").getByRole("link").getAttribute("href")).toContain(spared);
  for (const run of others) {
    await page.goto(`${url}/#/run/${run}?tab=audit`);
    const row = page.getByRole("row").filter({ hasText: "cancel" });
    await expect.poll(() => row.allInnerTexts()).toEqual([expect.stringMatching(/the shop is closed\s+requested/)]);
  }
  await page.goto(`${url}/#/run/${spared}?tab=audit`);
  await expect.poll(() => page.locator("main").innerText()).toContain("Audit log");
  expect(await page.locator("main").innerText()).not.toContain("the shop is closed");
  expect(troubles).toEqual([]);
});
