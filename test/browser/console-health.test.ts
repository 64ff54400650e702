/** The page Health in a real Chromium: the checks of the store, and a webhook that is sent again by hand. */
import { createServer } from "node:http";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { waitUntil } from "../support/gate/safety.ts";
import { createCliFolder, runCairn, startQueuedRun } from "../support/processes/cli-process.ts";
import { violationsOf } from "./axe.ts";
import { openPage, startServer, waitForRun } from "./harness.ts";

/** An endpoint that keeps the IDs of what it was sent, and answers as the test says. */
async function receiver() {
  const heard: string[] = [];
  const answers = { status: 410 };
  const server = createServer((request, response) => {
    heard.push(String(request.headers["webhook-id"]));
    response.writeHead(answers.status).end();
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  onTestFinished(() => void server.close());
  await promise;
  return { heard, answers, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/cairn` };
}

test("shows the checks, and sends again what an endpoint had refused for good", async () => {
  const hook = await receiver();
  const at = createCliFolder({ HOOK_KEY: `whsec_${Buffer.alloc(32, 7).toString("base64")}` });
  const webhooks = [{ url: hook.url, events: ["run.completed"], secret: "HOOK_KEY" }];
  const config = `export const config = { agents: ["./clerk.ts"], webhooks: ${JSON.stringify(webhooks)} };\n`;
  writeFileSync(join(at.dir, "cairn.config.ts"), config);
  const run = await startQueuedRun(at, "note");
  const { url } = await startServer(at);
  await waitForRun(url, run, { status: "completed" });
  await waitUntil(() => expect(hook.heard).toHaveLength(1));
  const { page, troubles } = await openPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${url}/#/health`);
  const checks = page.getByRole("region", { name: "Checks" }).first();
  await expect.poll(() => checks.innerText()).toMatch(/cairn \d.*, world local/);
  expect(await checks.getByRole("row", { name: /store-writable/ }).innerText()).toContain("ok");
  const work = page.getByRole("region", { name: "Work", exact: true });
  await expect.poll(() => work.innerText()).toMatch(/\d process(es)? of \d+ at most, \d+ at work, \d+ places? free/);
  expect(await work.innerText()).toMatch(/(No sweep yet|Last sweep [^;]*); the next one /);
  const endpoint = page.getByRole("article", { name: new URL(hook.url).origin });
  await expect.poll(() => endpoint.innerText()).toMatch(/0 waiting, 1 given up/);
  expect(await endpoint.innerText()).toContain("it answered 410");
  expect(await violationsOf(page)).toEqual([]);
  // On a phone the button is on the page, and not behind its edge.
  await page.setViewportSize({ width: 390, height: 800 });
  const again = endpoint.getByRole("button", { name: "Send again", exact: true });
  const box = await again.boundingBox();
  expect((box?.x ?? 390) + (box?.width ?? 0)).toBeLessThan(390);
  const edge = await endpoint.getByRole("region").evaluate((part) => part.scrollWidth - part.clientWidth);
  expect(edge).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
  hook.answers.status = 200;
  await again.click();
  await expect.poll(() => endpoint.getByRole("status").innerText()).toContain("1 notification put back");
  // Its end begins a round of deliveries at once.
  const next = await runCairn(at, ["start", "clerk", "--input", '{"steps":["note"]}', "--key", "second"]);
  expect(next.exit).toBe(0);
  await waitUntil(() => expect(new Set(hook.heard).size).toBe(2));
  await waitUntil(() => expect(hook.heard.filter((id) => id === hook.heard[0])).toHaveLength(2));
  await expect.poll(() => endpoint.innerText()).toMatch(/It accepts requests\.[^]*0 waiting, 0 given up/);
  expect(troubles).toEqual([]);
});
