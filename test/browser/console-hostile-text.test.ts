/** What a model writes to mislead or to spoil a page, in a real Chromium; and pages that axe has to find clean besides. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createCliFolder, runCairnJson, startQueuedRun } from "../support/processes/cli-process.ts";
import { violationsOf } from "./axe.ts";
import { openPage, startServer, waitForRun } from "./harness.ts";

const PAYER = `
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

export const payer = defineAgent({
  name: "payer",
  version: "1",
  model: scriptedModel({
    name: "payer-model",
    reply: ({ calls }) =>
      calls.length > 0 ? { text: "paid" } : { calls: [{ tool: "pay", args: { to: "\\u202eeve\\u202c", note: "<b>x</b>" } }] },
  }),
  instructions: "",
  task: z.object({}),
  tools: {
    pay: tool({
      effect: "keyed",
      approval: () => "it goes to \\u202eeve\\u202c " + "x".repeat(300),
      input: z.object({ to: z.string(), note: z.string() }),
      run: ({ input }) => input.to,
    }),
  },
});
`;

test("shows the arguments of an approval as they run, within its card, also those that reverse the text", async () => {
  const at = createCliFolder();
  writeFileSync(join(at.dir, "payer.ts"), PAYER);
  writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./payer.ts"] };\n');
  const { run } = await runCairnJson(at, ["start", "payer", "--input", "{}"]);
  const { url } = await startServer(at);
  await waitForRun(url, String(run), { phase: "AwaitingApproval" });
  const { page } = await openPage({ viewport: { width: 390, height: 780 } });
  await page.goto(`${url}/#/needs`);
  const card = page.getByRole("article");
  await expect.poll(() => card.innerText()).toContain(String.raw`"to": "\u202eeve\u202c"`);
  expect(await card.innerText()).toContain(String.raw`it goes to \u202eeve\u202c`);
  expect(await card.innerText()).not.toContain("\u202e");
  expect(
    await card.evaluate((each: { scrollWidth: number; clientWidth: number }) => each.scrollWidth - each.clientWidth),
  ).toBe(0);
  await card.getByText("As a command").click();
  const denial = `npx cairn deny ${String(run)} `;
  expect((await card.locator(".command").allInnerTexts()).filter((each) => each.includes(denial))).toHaveLength(1);
  await card.getByRole("button", { name: "Change the arguments" }).click();
  const edited = card.getByLabel("Arguments that run instead (JSON)");
  expect(JSON.parse(await edited.inputValue())).toEqual({ to: "\u202eeve\u202c", note: "<b>x</b>" });
  await edited.fill('{"to":"bob","note":""}');
  expect(await card.locator(".command").first().innerText()).toContain(`--args '{"to":"bob","note":""}'`);
  await card.getByRole("button", { name: "Approve with these arguments" }).click();
  await expect.poll(async () => (await runCairnJson(at, ["show", String(run)]))["status"]).toBe("completed");
});

test("lets no second decision be sent where another tab was first", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "pay");
  const { url } = await startServer(at);
  await waitForRun(url, run, { phase: "AwaitingApproval" });
  const { page } = await openPage();
  const problem = { code: "Duplicate", detail: "It was sent before; the first one counts." };
  await page.route(/\/approvals\//, (route) => route.fulfill({ status: 409, json: problem }));
  await page.goto(`${url}/#/needs`);
  const card = page.getByRole("article");
  await card.getByRole("button", { name: "Deny" }).click();
  await expect.poll(() => card.getByRole("alert").innerText()).toContain("the first one counts");
  expect(await card.getByRole("button", { name: /Approve|Deny/ }).count()).toBe(0);
});

test("is clean where a table is wider than a narrow page, and where there is no such run or page", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "note");
  const { url } = await startServer(at);
  await waitForRun(url, run, { status: "completed" });
  const { page } = await openPage({ viewport: { width: 390, height: 780 }, bypassCSP: true });
  for (const [path, words] of [
    [`run/${run}?tab=audit`, "Operation"],
    ["run/local-nope", "There is no such run"],
    ["nowhere", "There is no such page"],
  ]) {
    await page.goto(`${url}/#/${path ?? ""}`);
    await expect.poll(() => page.locator("main").innerText()).toContain(words);
    expect(await violationsOf(page)).toEqual([]);
  }
});
