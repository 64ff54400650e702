/** A `useChat` page in a real browser, over a real server whose worker is killed while its model speaks. */
import { buildSync } from "esbuild";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { HALTING_MODEL, killHaltedProcess } from "../support/agents/halting-model.ts";
import { LONG_TIMEOUTS, createCliFolder, parseJsonLines, runCairn } from "../support/processes/cli-process.ts";
import { type Served, openPage, startServer } from "./harness.ts";

/** Speaks in words that tell which call they belong to. It halts in the middle of a slow reply. */
const TALKER = `${HALTING_MODEL}
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

const words = Array.from({ length: 40 }, (_, index) => "word" + index).join(" ");

export const talker = defineAgent({
  name: "talker",
  version: "1",
  instructions: "Talk.",
  task: z.string(),
  model: halting(scriptedModel({
    name: "talker-model",
    reply: ({ messages }) => {
      const asked = messages.findLast(({ role }) => role === "user").text;
      if (asked === "pay" && messages.at(-1).role === "user") return { calls: [{ tool: "pay", args: { euros: 5 } }] };
      const halt = asked === "slow" ? " halt" : "";
      return { text: "About " + asked + ": " + words + halt + " end" };
    },
  }), "halt"),
  tools: {
    pay: tool({
      input: z.object({ euros: z.number() }),
      effect: "keyed",
      approval: "always",
      run: ({ key }) => appendFileSync(join(process.env.CAIRN_STORE ?? ".", "paid"), key + "\\n"),
    }),
  },
  chat: true,
});
`;

const PAGE = '<!doctype html><meta charset="utf-8"><div id="root"></div><script type="module" src="/page.js"></script>';

/** The page's program, as a bundler makes it for browsers. */
function bundledPage(): string {
  const { outputFiles } = buildSync({
    entryPoints: [join(import.meta.dirname, "fixtures", "chat-page.ts")],
    ...{ bundle: true, write: false, format: "esm", target: "es2022", platform: "browser" },
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return outputFiles?.[0]?.text ?? "";
}

/** Serves the page at the server's own address, as a site would that has cairn's API below it. */
async function open(page: Page, url: string): Promise<void> {
  const program = bundledPage();
  await page.route(`${url}/page`, (route) => route.fulfill({ contentType: "text/html", body: PAGE }));
  await page.route(`${url}/page.js`, (route) => route.fulfill({ contentType: "text/javascript", body: program }));
  await page.goto(`${url}/page`);
  await page.locator("input").waitFor();
}

async function say(page: Page, text: string): Promise<void> {
  await page.locator("input").fill(text);
  await page.locator("input").press("Enter");
}

const answersIn = (page: Page): Promise<readonly string[]> => page.locator("article.assistant p").allInnerTexts();
const statusOf = (page: Page): Promise<string> => page.locator("#status").innerText();

async function talkers(): Promise<Served> {
  const at = createCliFolder(LONG_TIMEOUTS);
  writeFileSync(join(at.dir, "talker.ts"), TALKER);
  writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./talker.ts"] };\n');
  return startServer(at);
}

/** Kills the process that works now. The next one speaks to the end. */
async function killWorkerOf({ at }: Served): Promise<void> {
  await killHaltedProcess(at.dir);
  writeFileSync(join(at.dir, "go"), "");
}

test("shows a reply once, although its worker is killed while it speaks and the page is loaded again", async () => {
  const served = await talkers();
  const { page } = await openPage();
  await open(page, served.url);
  await say(page, "hello");
  await expect.poll(() => answersIn(page)).toEqual([expect.stringMatching(/^About hello: word0 .* end$/)]);
  await expect.poll(() => statusOf(page)).toBe("ready");
  await say(page, "slow");
  // The page shows words of a reply that is not committed.
  await expect.poll(async () => (await answersIn(page))[1] ?? "").toMatch(/word1\b/);
  expect((await answersIn(page))[1]).not.toContain("end");
  await killWorkerOf(served);
  await page.reload();
  await page.locator("input").waitFor();
  const whole = /^About slow: word0 word1 .*word39 halt end$/;
  await expect
    .poll(() => answersIn(page))
    .toEqual([expect.stringMatching(/^About hello/), expect.stringMatching(whole)]);
  await expect.poll(() => statusOf(page)).toBe("ready");
  const [run = { run: "" }] = parseJsonLines((await runCairn(served.at, ["list", "--json"])).out);
  expect(run).toMatchObject({ agent: "talker", status: "waiting" });
});

test("goes on in the same page when the worker is killed, and approves a payment once", async () => {
  const served = await talkers();
  const { page } = await openPage();
  await open(page, served.url);
  await say(page, "slow");
  await expect.poll(async () => (await answersIn(page))[0] ?? "").toMatch(/word1\b/);
  await killWorkerOf(served);
  await expect.poll(() => answersIn(page)).toEqual([expect.stringMatching(/^About slow: word0 .* end$/)]);
  await expect.poll(() => statusOf(page)).toBe("ready");
  await say(page, "pay");
  await page.locator("button.approve").click();
  await expect.poll(() => page.locator(".tool").innerText()).toBe("tool-pay output-available");
  await expect.poll(async () => (await answersIn(page))[1] ?? "").toMatch(/^About pay: .* end$/);
});

test("takes a decision after the user went on, in a page that was loaded again, and shows it in a second one", async () => {
  const served = await talkers();
  const { page } = await openPage();
  await open(page, served.url);
  await say(page, "pay");
  await page.locator("button.approve").waitFor();
  await say(page, "meanwhile");
  await expect.poll(() => statusOf(page)).toBe("ready");
  await page.reload();
  const second = await page.context().newPage();
  await open(second, served.url);
  await page.locator("button.approve").click();
  await expect.poll(() => page.locator(".tool").innerText()).toBe("tool-pay output-available");
  await expect.poll(async () => (await answersIn(page)).at(-1) ?? "").toMatch(/^About meanwhile: .* end$/);
  // The second page still has its buttons: the first decision counts, and the page shows it.
  await second.locator("button.approve").click();
  await expect.poll(() => second.locator(".tool").innerText()).toBe("tool-pay output-available");
  await second.reload();
  await expect.poll(async () => (await answersIn(second)).at(-1) ?? "").toMatch(/^About meanwhile: .* end$/);
  // No other answer is made: the page says so, and shows the one that stands.
  await page.locator("#again").click();
  await expect.poll(() => statusOf(page)).toMatch(/^error: The answer stands/);
  expect((await answersIn(page)).at(-1)).toMatch(/^About meanwhile: .* end$/);
});

test("ends an answer that waits for a decision, and goes on with the next message", async () => {
  const served = await talkers();
  const { page } = await openPage();
  await open(page, served.url);
  await say(page, "pay");
  await page.locator("button.approve").waitFor();
  // A page that is left takes a request along that has not arrived.
  const stopped = page.waitForResponse((response) => response.url().endsWith("/stop"));
  await page.locator("#stop").click();
  await stopped;
  await page.reload();
  await expect.poll(() => answersIn(page)).toEqual(["Stopped."]);
  expect(await page.locator(".tool").innerText()).toBe("tool-pay output-denied");
  await say(page, "next");
  await expect.poll(async () => (await answersIn(page)).at(-1) ?? "").toMatch(/^About next: .* end$/);
});
