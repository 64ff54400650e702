/** Runs that an operator brings back in the console, in a real Chromium: by a redrive, and by a fork. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  countMails,
  createCliFolder,
  parseJsonLines,
  runCairn,
  runCairnJson,
  startQueuedRun,
} from "../support/processes/cli-process.ts";
import { AWAY } from "../support/processes/away-agent.ts";
import { openPage, startServer } from "./harness.ts";

test("redrives a run that failed because its model was away, with a reason, by keyboard alone", async () => {
  const at = createCliFolder();
  writeFileSync(join(at.dir, "away.ts"), AWAY);
  writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./away.ts"] };\n');
  const { run } = await runCairnJson(at, ["start", "away", "--input", "{}", "--wait"]);
  const { url } = await startServer(at);
  const { page, troubles } = await openPage();
  await page.goto(`${url}/#/runs`);
  await expect.poll(() => page.getByRole("listitem").innerText()).toContain("failed");
  // Keys count once the list listens to them.
  const openFirst = async (): Promise<string> => {
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    return page.url();
  };
  await expect.poll(openFirst).toContain(`#/run/${String(run)}`);
  const verdict = page.locator(".verdict");
  await expect.poll(() => verdict.innerText()).toContain("ModelUnavailable");
  writeFileSync(join(at.store, "back"), "");
  await page.getByRole("button", { name: "Redrive" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Redrive" });
  await dialog.getByLabel("Why (for the record)").waitFor();
  // The field has the focus, and the button waits for a reason.
  expect(await dialog.getByRole("button", { name: "Redrive" }).isDisabled()).toBe(true);
  await page.keyboard.type("the provider is back");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByRole("region", { name: "Run" }).innerText()).toContain("completed");
  const timeline = (await runCairn(at, ["timeline", String(run)])).out;
  expect(timeline).toContain("after ModelUnavailable: the provider is back");
  expect(troubles).toEqual([]);
});

test("pauses a run with a reason by keyboard alone, and the audit log shows it", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "pay");
  const { url } = await startServer(at);
  const { page, troubles } = await openPage();
  await page.goto(`${url}/#/run/${run}`);
  await page.getByRole("button", { name: "Pause" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Pause" }).getByLabel("Why (for the record)").waitFor();
  await page.keyboard.type("the price list is wrong");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByRole("button", { name: "Resume" }).isVisible()).toBe(true);
  await page.getByRole("link", { name: "Audit log" }).click();
  const row = page.getByRole("row", { name: /pause/ });
  await expect.poll(() => row.innerText()).toContain("the price list is wrong");
  expect((await runCairn(at, ["audit-log", run])).out).toContain("the price list is wrong");
  expect(troubles).toEqual([]);
});

test("forks a run past an effect only after naming it, and opens the fork, which acts for itself", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "note", "mail");
  const { url } = await startServer(at);
  const { page } = await openPage({ viewport: { width: 390, height: 780 } });
  await page.goto(`${url}/#/run/${run}`);
  await expect.poll(async () => (await runCairnJson(at, ["show", run]))["status"]).toBe("completed");
  const events = parseJsonLines((await runCairn(at, ["timeline", run, "--json"])).out);
  const noted = events.find(({ kind, call }) => kind === "ToolResultRecorded" && call === "c1")?.["version"];
  await page.getByRole("button", { name: "Fork" }).click();
  const dialog = page.getByRole("dialog", { name: "Fork" });
  // Its last version is its end, which the API refuses; it names the versions that it takes.
  await dialog.getByRole("button", { name: "Fork" }).click();
  await dialog.getByRole("group", { name: "It can be forked at" }).getByText(String(noted), { exact: true }).click();
  expect(await dialog.getByLabel("Version").inputValue()).toBe(String(noted));
  expect(await dialog.getByRole("alert").count()).toBe(0);
  await dialog.getByRole("button", { name: "Fork" }).click();
  await expect.poll(() => dialog.innerText()).toContain("mail");
  expect(parseJsonLines((await runCairn(at, ["list", "--json"])).out)).toHaveLength(1);
  await dialog.getByRole("button", { name: "Fork all the same" }).click();
  await expect.poll(() => page.url()).not.toContain(run);
  const fork = page.url().split("/").at(-1) ?? "";
  await expect.poll(async () => (await runCairnJson(at, ["show", fork]))["status"]).toBe("completed");
  expect(await runCairnJson(at, ["show", fork])).toMatchObject({ forkedFrom: { run, version: noted } });
  expect(countMails(at)).toBe(2);
});

test("confirms a fork only at the version whose effects the answer named, also if the version changes meanwhile", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "pay");
  const { url } = await startServer(at);
  const { page } = await openPage();
  const bodies: unknown[] = [];
  const changed = Promise.withResolvers<void>();
  await page.route(/\/fork$/, async (route) => {
    bodies.push(route.request().postDataJSON());
    if (bodies.length === 2) await changed.promise;
    const effects = { later: ["mail (c2)"], undone: [] };
    const outcome = { kind: "notConfirmed", effects };
    await route.fulfill({ status: 409, json: { code: "NotConfirmed", detail: "it names the effects", outcome } });
  });
  await page.goto(`${url}/#/run/${run}`);
  await page.getByRole("button", { name: "Fork" }).click();
  const dialog = page.getByRole("dialog", { name: "Fork" });
  const version = dialog.getByLabel("Version");
  const isAsked = () => dialog.getByText("it names the effects").count();
  const button = dialog.locator("button[type=submit]");
  await version.fill("9");
  await button.click();
  await expect.poll(() => button.innerText()).toBe("Fork all the same");
  await version.fill("2");
  await expect.poll(() => button.innerText()).toBe("Fork");
  expect(await isAsked()).toBe(0);
  await button.click();
  await expect.poll(() => bodies.length).toBe(2);
  await version.fill("3");
  changed.resolve();
  await expect.poll(() => button.innerText()).toBe("Fork");
  expect(await isAsked()).toBe(0);
  await button.click();
  await expect.poll(() => button.innerText()).toBe("Fork all the same");
  await button.click();
  await expect.poll(() => bodies.length).toBe(4);
  expect(bodies).toEqual([{ at: 9 }, { at: 2 }, { at: 3 }, { at: 3, confirmed: true }]);
});
