/** What Needs me shows of answers that the server makes seldom, in a real Chromium. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { WaitingPage } from "../../src/operations/approvals.ts";
import type { CallerView } from "../../src/operations/caller-view.ts";
import type { Listed } from "../../src/operations/list.ts";
import type { Shown } from "../../src/operations/views.ts";
import { createCliFolder, runCairn, startQueuedRun } from "../support/processes/cli-process.ts";
import { openPage, startServer, waitForRun } from "./harness.ts";

/** Answers these GETs with what the server says, changed. */
async function changing<Document>(page: Page, path: RegExp, change: (document: Document) => Document): Promise<void> {
  await page.route(path, async (route) => {
    if (route.request().method() !== "GET") return route.fallback();
    const response = await route.fetch();
    await route.fulfill({ response, json: change((await response.json()) as Document) });
  });
}

async function waitingRun(): Promise<{ readonly run: string; readonly url: string }> {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "pay");
  const { url } = await startServer(at);
  await waitForRun(url, run, { phase: "AwaitingApproval" });
  return { run, url };
}

test("names a run by its title and the key of its start, on its card and on its page", async () => {
  const at = createCliFolder();
  const input = '{"steps":["pay"]}';
  expect((await runCairn(at, ["start", "clerk", "--input", input, "--key", "invoice-7"])).exit).toBe(0);
  const { url } = await startServer(at);
  const { page, troubles } = await openPage();
  await page.goto(`${url}/#/needs`);
  const card = page.getByRole("article", { name: "Approve pay" });
  await expect.poll(() => card.innerText()).toContain("[invoice-7]");
  await card.getByRole("link", { name: "clerk" }).click();
  await expect
    .poll(() => page.getByRole("region", { name: "Run" }).locator("header").innerText())
    .toContain("[invoice-7]");
  expect(troubles).toEqual([]);
});

test("asks again when an outcome is unknown again after it was run again", async () => {
  const { run, url } = await waitingRun();
  const { page } = await openPage();
  let [reconcilableFrom, posts] = [1_000, 0];
  const unknown = () => ({
    ...{
      call: "c1",
      tool: "mail",
      key: "mail-c1",
      business: false,
      args: { step: 1 },
      reconcilableFrom,
      answered: false,
    },
    ...{ toolGone: false, unbegun: null, lostTime: false, did: [], otherwise: "ask" as const, undo: false },
  });
  await changing<Listed>(page, /\/runs\?limit=/, (list) => ({
    ...list,
    runs: list.runs.map((each) => ({ ...each, status: "blocked" })),
  }));
  await changing<WaitingPage>(page, /\/approvals$/, (list) => ({ ...list, gates: [] }));
  await changing<Shown>(page, new RegExp(`/runs/${run}$`), (shown) => ({ ...shown, unknown: [unknown()] }));
  await page.route(/\/reconcile\/c1$/, (route) => {
    posts += 1;
    return route.fulfill({ status: 202, json: { kind: "accepted" } });
  });
  await page.goto(`${url}/#/needs`);
  const card = page.getByRole("article", { name: "Outcome of mail unknown" });
  await card.getByLabel(/Run it again/).check();
  await card.getByRole("button", { name: "Reconcile: run it again" }).click();
  await expect.poll(() => card.innerText()).toContain("Accepted, waiting for the run to take it");
  reconcilableFrom = 2_000;
  await card.getByRole("button", { name: "Reconcile: it happened" }).waitFor();
  expect({ cards: await card.count(), text: await card.innerText() }).toEqual({
    cards: 1,
    text: expect.not.stringContaining("Accepted"),
  });
  expect(posts).toBe(1);
});

test("reads arguments that are too long for the list from the run, and lets none be changed unseen", async () => {
  const { run, url } = await waitingRun();
  const { page } = await openPage();
  const reading = Promise.withResolvers<void>();
  let omitted: readonly string[] = [];
  await changing<WaitingPage>(page, /\/approvals$/, (list) => ({
    ...list,
    gates: list.gates.map((gate) => ({ ...gate, args: null, omitted: ["args"] as const })),
  }));
  await page.route(new RegExp(`/runs/${run}$`), async (route) => {
    const response = await route.fetch();
    const shown = (await response.json()) as Shown;
    await reading.promise;
    await route.fulfill({ response, json: { ...shown, ...(omitted.length > 0 && { omitted }) } });
  });
  await page.goto(`${url}/#/needs`);
  const card = page.getByRole("article", { name: "Approve pay" });
  const approve = card.getByRole("button", { name: "Approve", exact: true });
  await expect.poll(() => card.innerText()).toContain("too long for this list");
  expect(await card.innerText()).not.toContain("null");
  expect(await approve.isDisabled()).toBe(true);
  reading.resolve();
  await expect.poll(() => card.innerText()).toContain('"step": 1');
  expect(await approve.isEnabled()).toBe(true);
  await card.getByRole("button", { name: "Change the arguments" }).click();
  expect(await card.getByLabel("Arguments that run instead (JSON)").inputValue()).toContain('"step": 1');

  omitted = ["#/gates/*/args"];
  await page.reload();
  await expect.poll(() => card.innerText()).toContain(`npx cairn show ${run} --json`);
  expect(await approve.isEnabled()).toBe(true);
  expect(await card.getByRole("button", { name: "Change the arguments" }).count()).toBe(0);
});

test("shows what the tool gets in place of the arguments, and names what its schema drops", async () => {
  const { url } = await waitingRun();
  const { page } = await openPage();
  const parsed = { as: "value" as const, json: { step: 1, stamp: 7 }, dropped: ["note"] };
  await changing<WaitingPage>(page, /\/approvals$/, (list) => ({
    ...list,
    gates: list.gates.map((gate) => ({ ...gate, args: { step: 1, note: "soon" }, parsed })),
  }));
  await page.goto(`${url}/#/needs`);
  const card = page.getByRole("article", { name: "Approve pay" });
  await expect.poll(() => card.innerText()).toContain('"stamp": 7');
  expect(await card.innerText()).toContain("The tool does not get: note");
  expect(await card.innerText()).toContain('"note": "soon"');
});

test("offers no decision, start, fork or action on runs that the scopes of the caller do not allow", async () => {
  const { run, url } = await waitingRun();
  const { page } = await openPage();
  const allowed = ["list", "show", "timeline", "approvals", "agents", "snapshot", "schedules", "cancel"];
  await changing<CallerView>(page, /\/caller$/, (caller) => ({ ...caller, operations: allowed }));
  await page.goto(`${url}/#/needs`);
  const card = page.getByRole("article", { name: "Approve pay" });
  await expect.poll(() => card.innerText()).toContain("Your token does not allow: Approve, Deny");
  expect(await card.getByRole("button", { name: /Approve|Deny|Change/ }).count()).toBe(0);
  await page.goto(`${url}/#/agents/clerk`);
  await expect.poll(() => page.locator("main").innerText()).toContain("Your token does not allow: Start");
  expect(await page.locator("form.start").count()).toBe(0);
  await page.goto(`${url}/#/run/${run}?tab=state`);
  await expect.poll(() => page.locator("main").innerText()).toContain("State at version");
  expect(await page.getByRole("button", { name: /Fork/ }).count()).toBe(0);
  await page.goto(`${url}/#/runs`);
  await page.getByRole("button", { name: "Act on these runs…" }).click();
  expect(await page.getByLabel("Action").getByRole("option").allInnerTexts()).toEqual(["cancel"]);
});
