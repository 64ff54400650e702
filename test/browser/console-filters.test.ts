/** Filters, budgets, and what the console offers, in a real Chromium over a real server. */
import { expect, test } from "vitest";
import { createCliFolder, runCairn, startQueuedRun, stepsInput } from "../support/processes/cli-process.ts";
import { openPage, startServer } from "./harness.ts";

test("shows the budget of a run in the list, its head and its cost, and the estimate of AWS with its date", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "note");
  const { url } = await startServer(at);
  const { page, troubles } = await openPage();
  await page.goto(url);
  const row = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await expect.poll(() => row.innerText()).toContain("completed");
  expect(await row.locator(".money").getAttribute("title")).toMatch(/\d of \d+ beats/);
  await page.goto(`${url}/#/run/${run}?tab=cost`);
  const budget = page.locator("section", { has: page.getByRole("heading", { name: "Budget" }) }).last();
  await expect.poll(() => budget.innerText()).toMatch(/\d of \d+ beats/);
  const aws = page.locator("section", { has: page.getByRole("heading", { name: /On AWS it would take/ }) }).last();
  await expect.poll(() => aws.innerText()).toMatch(/Derived from the log.*us-east-1 on \d{4}-\d\d-\d\d/);
  expect(await page.locator(".places").count()).toBe(0);
  expect(troubles).toEqual([]);
});

test("a tenant in the address lists its runs, and a link to one opens it", async () => {
  const at = createCliFolder();
  const own = await startQueuedRun(at, "note");
  const started = await runCairn(at, ["start", "clerk", "--input", stepsInput("note"), "--tenant", "acme"]);
  expect(started.exit).toBe(0);
  const { url } = await startServer(at);
  const { page, troubles } = await openPage();
  await page.goto(url);
  const rows = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await expect.poll(() => rows.getByRole("link").getAttribute("href")).toContain(own);
  await page.getByLabel("Tenant").fill("acme");
  await page.keyboard.press("Enter");
  await expect.poll(() => rows.getByRole("link").getAttribute("href")).toContain("run/acme-");
  expect(page.url()).toContain("tenant=acme");
  await page.reload();
  await expect.poll(() => rows.getByRole("link").getAttribute("href")).toContain("run/acme-");
  await rows.getByRole("link").click();
  await expect.poll(() => page.getByRole("heading", { level: 1 }).innerText()).toBe("clerk");
  await page.goto(`${url}/#/runs`);
  await expect.poll(() => rows.getByRole("link").getAttribute("href")).toContain(own);
  expect(troubles).toEqual([]);
});

test("filters by schedule, label, parent, first signal and cost, and offers no purge where the server has none", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "note");
  const { url } = await startServer(at);
  const { page, troubles } = await openPage();
  // What a deployment on AWS answers: the tests of the API hold its answers to the same shape.
  await page.route("**/caller", async (route) => {
    const response = await route.fetch();
    const caller = (await response.json()) as { readonly operations: readonly string[] };
    const operations = caller.operations.filter((name) => name !== "purge");
    await route.fulfill({ response, json: { ...caller, isOperator: false, operations, absent: ["purge"] } });
  });
  await page.route(`**/runs/${run}`, async (route) => {
    const response = await route.fetch();
    const aws = {
      executionArn: "arn:aws:states:eu-central-1:1:execution:m:x",
      executionUrl: "https://eu-central-1.console.aws.amazon.com/states/home?region=eu-central-1#/v2/executions",
      ...{ objects: "s3://bucket/runs/local/", table: "table", rowKey: "{}", logsQuery: "fields @timestamp" },
      logGroups: ["/aws/lambda/p-beat"],
    };
    await route.fulfill({ response, json: { ...((await response.json()) as object), aws } });
  });
  await page.route("**/runs?*", async (route) => {
    const response = await route.fetch();
    const list = (await response.json()) as { readonly runs: readonly { readonly run: string }[] };
    const [first] = list.runs;
    const named = { labels: { team: "ops" }, parent: "local-boss" };
    const nightly = { ...first, ...named, run: "local-nightly", isScheduled: true, signals: ["runaway"] };
    const spent = { usd: 2, tokensIn: 1, tokensOut: 1 };
    const budget = [{ meter: "usd", used: 2, limit: 2 }];
    const runs = first === undefined ? [] : [first, { ...nightly, spent, budget }];
    await route.fulfill({ response, json: { ...list, runs } });
  });
  await page.goto(url);
  const rows = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await expect.poll(() => rows.count()).toBe(2);
  expect(await page.getByLabel("Tenant").count()).toBe(0);
  for (const [label, value, query] of [
    ["Schedule", "clerk", "schedule=clerk"],
    ["First signal", "runaway", "crack=runaway"],
    ["Label", "team=ops", "label=team%3Dops"],
    ["Parent", "local-boss", "parent=local-boss"],
    ["Cost", "1", "above=1"],
  ] as const) {
    await page.getByLabel(label, { exact: true }).selectOption(value);
    await expect.poll(() => rows.count()).toBe(1);
    expect(page.url()).toContain(query);
    // The warning is a word and a shape, not a colour alone.
    expect(await rows.locator(".money").innerText()).toContain("$2.00 of $2.00: used up");
    expect(await rows.locator(".who").innerText()).toContain("team=ops");
    await page.getByLabel(label, { exact: true }).selectOption("");
    await expect.poll(() => rows.count()).toBe(2);
  }
  await page.goto(`${url}/#/run/${run}`);
  await expect.poll(() => page.getByText("Purge is not possible here").count()).toBe(1);
  expect(await page.getByRole("button", { name: "Purge", exact: true }).count()).toBe(0);
  await page.getByText("Purge is not possible here").click();
  await expect.poll(() => page.locator("main").innerText()).toContain(`npx cairn purge ${run} --yes`);
  await page.getByText("In AWS").click();
  const link = page.getByRole("link", { name: "Open in Step Functions" });
  expect({ target: await link.getAttribute("target"), rel: await link.getAttribute("rel") }).toEqual({
    target: "_blank",
    rel: "noopener noreferrer",
  });
  expect(troubles).toEqual([]);
});
