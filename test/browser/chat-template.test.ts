/** The page of the template `chat` as its own vite serves it, in a real browser, over `cairn dev` that is killed. */
import { spawn } from "node:child_process";
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import {
  type CliFolder,
  createCliFolder,
  freePort,
  parseJsonLines,
  runCairn,
} from "../support/processes/cli-process.ts";
import { openPage, startServer } from "./harness.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const TEMPLATE = join(ROOT, "templates", "chat");

/** A folder with the agent of the template. */
function project(): CliFolder {
  const at = createCliFolder();
  for (const name of ["agents", "cairn.config.ts"]) {
    cpSync(join(TEMPLATE, name), join(at.dir, name), { recursive: true });
  }
  return at;
}

/** Serves the page as `npm run page` does, and returns its address. The packages are those of the repository. */
async function servePage(cairn: string): Promise<string> {
  const port = String(await freePort());
  const words = ["page", "--port", port, "--strictPort", "--clearScreen", "false"];
  const env = { ...process.env, CAIRN_URL: cairn };
  const vite = spawn(process.execPath, [join(ROOT, "node_modules", "vite", "bin", "vite.js"), ...words], {
    ...{ cwd: TEMPLATE, env, stdio: "ignore" },
  });
  onTestFinished(() => void vite.kill());
  const url = `http://127.0.0.1:${port}/`;
  await expect
    .poll(() =>
      fetch(url).then(
        ({ status }) => status,
        () => null,
      ),
    )
    .toBe(200);
  return url;
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

const lastIn = (page: Page): Promise<string> => page.locator("article.assistant p").last().innerText();

test("answers, waits for an approval across a kill of the server, and refunds once", async () => {
  const at = project();
  const served = await startServer(at, "dev");
  const { page } = await openPage();
  await page.goto(await servePage(served.url));
  await say(page, "Hello");
  await expect.poll(() => lastIn(page)).toBe("Hello! Which order is it about? I know A-1 and A-2.");
  await say(page, "My lamp of order A-2 never came. Please refund it.");
  await page.getByRole("button", { name: "Approve" }).waitFor();
  served.running.child.kill("SIGKILL");
  await served.running.ended;
  // The request is sent again until the server is back.
  await page.getByRole("button", { name: "Approve" }).click();
  await startServer(at, "dev", Number(new URL(served.url).port));
  const refunded = "120 euros for a lamp of order A-2 are refunded.";
  await expect.poll(() => lastIn(page)).toBe(refunded);
  await page.reload();
  await expect.poll(() => lastIn(page)).toBe(refunded);
  expect(await page.locator("article").count()).toBe(4);
  await page.getByRole("button", { name: "New conversation" }).click();
  await expect.poll(() => page.locator("article").count()).toBe(0);
  expect(readdirSync(join(at.dir, ".office", "refunds"))).toHaveLength(1);
  const runs = parseJsonLines((await runCairn(at, ["list", "--json"])).out);
  expect(runs).toMatchObject([{ agent: "support", status: "waiting" }]);
});

test("denies a refund, and nothing is refunded", async () => {
  const at = project();
  const { url } = await startServer(at, "dev");
  const { page, troubles } = await openPage();
  await page.goto(await servePage(url));
  await say(page, "I want my money back for A-2.");
  await page.getByRole("button", { name: "Deny" }).click();
  await expect.poll(() => lastIn(page)).toBe("I may not refund a lamp. A colleague will write to you.");
  await page.getByText("denied").waitFor();
  expect(readdirSync(at.dir)).not.toContain(".office");
  expect(troubles).toEqual([]);
});

test("passes no request of another site on as one of its own", async () => {
  const at = project();
  const { url } = await startServer(at, "dev");
  const chat = `${await servePage(url)}chat/support/c1`;
  const body = JSON.stringify({ messages: [{ id: "u1", role: "user", parts: [{ type: "text", text: "Hello" }] }] });
  const headers = { "content-type": "application/json" };
  const foreign = await fetch(chat, { method: "POST", body, headers: { ...headers, origin: "https://evil.example" } });
  expect({ status: foreign.status, body: await foreign.json() }).toMatchObject({
    status: 403,
    body: { code: "OriginRefused" },
  });
  const own = await fetch(chat, { method: "POST", body, headers: { ...headers, origin: new URL(chat).origin } });
  expect(own.status).toBe(200);
});
