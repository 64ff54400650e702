/** What the console shows while the server fails, is silent or answers late, in a real Chromium. */
import type { UnknownCall } from "../../src/operations/views.ts";
import { type Page, type Route } from "playwright-core";
import { expect, test } from "vitest";
import { createCliFolder, startQueuedRun } from "../support/processes/cli-process.ts";
import { openPage, startServer, waitForRun } from "./harness.ts";

const AWAY = { status: 503, json: { code: "StoreUnreachable", detail: "the table is away" } };

async function noted(): Promise<{
  readonly run: string;
  readonly url: string;
  readonly signal: (name: NodeJS.Signals) => boolean;
}> {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "note");
  const { url, running } = await startServer(at);
  await waitForRun(url, run, { status: "completed" });
  return { run, url, signal: (name) => running.child.kill(name) };
}

const textOf = (page: Page): Promise<string> => page.locator("main").innerText();

/** Fails the first requests of this address. */
async function failing(page: Page, path: RegExp, times: number): Promise<void> {
  let failures = 0;
  await page.route(path, (route: Route) => ((failures += 1) <= times ? route.fulfill(AWAY) : route.continue()));
}

/** A run whose outcome is unknown, in answers that are made up. */
async function blockedRun(page: Page): Promise<void> {
  const call = {
    call: "c1",
    tool: "mail",
    key: "mail-c1",
    business: false,
    args: null,
    reconcilableFrom: 0,
    answered: false,
  };
  const marks = { toolGone: false, unbegun: null, lostTime: false, did: [] };
  const unknown: readonly UnknownCall[] = [{ ...call, ...marks, otherwise: "ask", undo: false }];
  const shown = { run: "local-a", agent: "clerk", status: "blocked", inProgress: true, gates: [], waits: [], unknown };
  await page.route(/\/runs\?status=blocked/, (route) =>
    route.fulfill({ json: { kind: "listed", runs: [shown], damaged: [], more: false, next: null } }),
  );
  await page.route(/\/runs\/local-a$/, (route) => route.fulfill({ json: { ...shown, waitsFor: null } }));
}

test("shows an unknown outcome while the list of runs cannot be read, and names a blocked run that cannot be", async () => {
  const { url } = await startServer(createCliFolder());
  const { page } = await openPage();
  await blockedRun(page);
  await page.route(/\/runs\?limit=/, (route) => route.fulfill(AWAY));
  await page.goto(`${url}/#/needs`);
  await expect.poll(() => textOf(page)).toContain("Did mail happen?");
  const broken = (route: Route) => route.fulfill({ status: 500, json: { code: "Damaged", detail: "it is damaged" } });
  await page.route(/\/runs\/local-a$/, broken);
  await page.reload();
  await expect.poll(() => textOf(page)).toContain("Whether local-a waits for you is not known: it is damaged");
  expect(await textOf(page)).not.toContain("Nothing waits for you");
});

test("reads a view again until the server answers", async () => {
  const { run, url } = await noted();
  const { page } = await openPage();
  await failing(page, /\/snapshots\//, 1);
  await page.goto(`${url}/#/run/${run}?tab=transcript`);
  await expect.poll(() => textOf(page)).toContain("The transcript cannot be read");
  await expect.poll(() => textOf(page)).toContain("noted step 1");
  expect(await textOf(page)).not.toContain("cannot be read");
  await failing(page, /\/agents$/, 1);
  await page.goto(`${url}/#/agents`);
  await expect.poll(() => textOf(page)).toContain("the table is away");
  await expect.poll(() => textOf(page)).toContain("clerk");
});

test("an answer that comes late replaces no newer one", async () => {
  const { run, url } = await noted();
  const { page } = await openPage();
  const late = Promise.withResolvers<void>();
  await page.route(/\/snapshots\/2$/, async (route) => {
    await late.promise;
    await route.continue().catch(() => undefined);
  });
  await page.goto(`${url}/#/run/${run}?tab=state&v=2&against=1`);
  const ended = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/snapshots/2"));
  await page.getByLabel("Version, 1 to").waitFor();
  await page.goto(`${url}/#/run/${run}?tab=state&v=3&against=1`);
  await expect.poll(() => textOf(page)).toContain("State at version 3");
  // The page itself has given it up, so it cannot take its answer.
  await ended;
  late.resolve();
});

test("says that what it shows of a run may be old when the run is gone", async () => {
  const { run, url } = await noted();
  const { page } = await openPage();
  await page.goto(`${url}/#/run/${run}`);
  await expect.poll(() => textOf(page)).toContain("Completed for");
  expect((await fetch(`${url}/runs/${run}`, { method: "DELETE" })).status).toBeLessThan(300);
  await expect.poll(() => page.getByRole("alert").innerText()).toContain("What you see may be old");
});

test("a server that takes requests and answers none is not live, and heals", async () => {
  const { url, signal } = await noted();
  const { page } = await openPage();
  await page.goto(url);
  await expect.poll(() => page.locator(".live").innerText()).toBe("live");
  signal("SIGSTOP");
  await expect.poll(() => page.locator(".live").innerText()).toContain("reconnecting for");
  signal("SIGCONT");
  await expect.poll(() => page.locator(".live").innerText()).toBe("live");
});

test("says that it copied nothing where the browser gives it no clipboard", async () => {
  const { run, url } = await noted();
  const { page, troubles } = await openPage();
  await page.addInitScript("delete Navigator.prototype.clipboard");
  await page.goto(`${url}/#/run/${run}`);
  await page.getByRole("button", { name: "Copy" }).first().click();
  await page.getByRole("button", { name: "Not copied" }).waitFor();
  expect(troubles).toEqual([]);
});

test("an address that names what is not there says so", async () => {
  const { run, url } = await noted();
  const { page } = await openPage();
  await page.goto(`${url}/#/run/${run}?tab=constructor`);
  await page.getByRole("region", { name: "Events" }).waitFor();
  expect(await page.title()).toMatch(/^local-\w{8} · cairn$/);
  await page.goto(`${url}/#/agents/nobody`);
  await expect.poll(() => textOf(page)).toContain("No agent nobody can be started here");
  await page.goto(`${url}/#/needs?run=${run}`);
  await expect.poll(() => textOf(page)).toContain("Nothing waits for you in this run");
  expect(await page.title()).toBe("Needs me · cairn");
});

test("says that a list may be old whose answers are no JSON, while the server answers other requests", async () => {
  const { run, url } = await noted();
  const { page } = await openPage();
  await page.goto(url);
  await expect.poll(() => textOf(page)).toContain(run.slice(0, 12));
  const html = { status: 200, contentType: "text/html", body: "<html>sign in</html>" };
  await page.route(/\/runs\?limit=/, (route) => route.fulfill(html));
  await expect.poll(() => page.getByRole("alert").innerText()).toContain("is no JSON");
});

test("shows when a schedule fires in the time of the reader and in its own", async () => {
  const { url } = await noted();
  const { page } = await openPage({ timezoneId: "UTC", locale: "en-GB" });
  const next = [Date.UTC(2030, 0, 5, 2, 0), Date.UTC(2030, 0, 5, 23, 30)];
  const schedule = { agent: "clerk", every: "cron(0 3 * * ? *)", timezone: "Europe/Berlin", paused: null, next };
  const schedules = [{ ...schedule, last: null, overlap: "skip", missed: "latest" }];
  await page.route(/\/schedules$/, (route) => route.fulfill({ json: { kind: "listed", schedules } }));
  await page.goto(`${url}/#/schedules`);
  await expect.poll(() => textOf(page)).toContain("5 Jan 2030, 02:00");
  expect(await textOf(page)).toContain("(03:00 Europe/Berlin)");
  expect(await textOf(page)).toContain("(6 Jan 2030, 00:30 Europe/Berlin)");
  await page.getByText("As a command").click();
  const commands = (await page.locator(".command").allInnerTexts()).join(" ");
  expect(commands).toMatch(/npx cairn schedules run clerk.+npx cairn schedules pause clerk/s);
});

test("shows a run that cannot be read under a filter", async () => {
  const { url } = await noted();
  const { page } = await openPage();
  const damaged = [{ run: "local-abc", why: "it is no JSON" }];
  await page.route(/\/runs\?limit=/, (route) =>
    route.fulfill({ json: { kind: "listed", runs: [], damaged, more: false, next: null } }),
  );
  await page.goto(`${url}/#/runs?group=failed&tenant=local`);
  await expect.poll(() => page.getByRole("listitem").innerText()).toContain("it is no JSON");
  await page.goto(`${url}/#/runs?text=clerk`);
  await expect.poll(() => textOf(page)).toContain("No run matches these filters");
});
