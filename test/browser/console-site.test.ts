/** The console of a deployment in a real browser: signing in and out, what leaves the origin, and saving exports. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { Download, Page } from "playwright-core";
import { expect, test } from "vitest";
import { exportRun } from "../../src/features/archive/export.ts";
import { createToken, revokeToken } from "../../src/operations/access/tokens.ts";
import { startConsoleSite } from "../support/aws/gateway-server.ts";
import { type ApiHarness, createApiHarness } from "../support/harness/api-harness.ts";
import { largeRun } from "../support/harness/large-run.ts";
import { type ServedRequest, serve } from "../support/services/http-server.ts";
import { openPage } from "./harness.ts";

/** A deployment whose store hands out its objects at an address of its own, as S3 does. */
async function startDeployment() {
  const harness = createApiHarness();
  const handedOut: ServedRequest[] = [];
  const objects = await serve((request) => {
    handedOut.push(request);
    const bytes = harness.world.store.objects.get(request.url.pathname.slice(1)) ?? new Uint8Array();
    const disposition = `attachment; filename="${request.url.searchParams.get("file")}"`;
    const headers = { "content-type": "text/plain", "content-disposition": disposition };
    return { status: 200, headers, body: Buffer.from(bytes).toString("base64") };
  });
  const world = {
    ...harness.world,
    links: { linkTo: async (key: string, of: { fileName: string }) => `${objects}/${key}?file=${of.fileName}` },
  };
  const url = await startConsoleSite(world, harness.agentOf);
  const newToken = (lifeMs: number | null = null) =>
    createToken(world, { tenant: "local", by: "ann", scopes: ["runs:read", "runs:write"], name: null, lifeMs });
  return { ...harness, url, objects, handedOut, newToken };
}

const signInDialog = (page: Page) => page.getByRole("dialog", { name: "Sign in" });

async function signIn(page: Page, secret: string): Promise<void> {
  await signInDialog(page).getByLabel("Access token").fill(secret);
  await signInDialog(page).getByRole("button", { name: "Sign in" }).click();
}

const started = async ({ ask }: Pick<ApiHarness, "ask">): Promise<string> =>
  String((await ask({ path: "/runs", json: { agent: "actor" } })).body["run"]);

test("signs in with a token, which goes to the own origin only and in no address, and signs out again", async () => {
  const { url, newToken, world, ...harness } = await startDeployment();
  const run = await started(harness);
  const { page } = await openPage();
  const asked: { readonly url: string; readonly token: string | undefined }[] = [];
  page.on("request", (each) => asked.push({ url: each.url(), token: each.headers()["authorization"] }));
  const response = await page.goto(url);
  expect(response?.headers()["content-security-policy"]).toContain("connect-src 'self'");
  await expect.poll(() => signInDialog(page).innerText()).toContain("the request has no access token");
  const first = await newToken();
  await signIn(page, `${first.secret.slice(0, -1)}x`);
  await expect.poll(() => signInDialog(page).innerText()).toContain("the access token is not known here");
  expect(await page.getByText(run.slice(0, 12)).count()).toBe(0);

  await signIn(page, first.secret);
  await expect.poll(() => page.getByRole("listitem").count()).toBe(1);
  expect(await signInDialog(page).count()).toBe(0);
  expect(await page.evaluate("[sessionStorage.length, localStorage.getItem('cairn.token'), document.cookie]")).toEqual([
    1,
    null,
    "",
  ]);

  await revokeToken(world, { tenant: "local", id: first.token.token, by: "ann" });
  await expect.poll(() => signInDialog(page).innerText()).toContain("the access token was revoked");
  const second = await newToken();
  await signIn(page, second.secret);
  await expect.poll(() => page.getByRole("listitem").count()).toBe(1);

  await page.goto(`${url}#/settings`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect.poll(() => signInDialog(page).isVisible()).toBe(true);
  await page.goto(`${url}#/runs`);
  expect(await page.evaluate("sessionStorage.getItem('cairn.token')")).toBe(null);
  expect(await page.getByRole("listitem").count()).toBe(0);

  expect(new Set(asked.map((each) => new URL(each.url).origin))).toEqual(new Set([new URL(url).origin]));
  for (const { secret } of [first, second]) {
    expect(asked.filter((each) => each.token === `Bearer ${secret}`).length).toBeGreaterThan(0);
    expect(asked.filter((each) => each.url.includes(secret))).toEqual([]);
  }
});

test("may ask no other origin, whatever code ran in it", async () => {
  const { url, objects, handedOut } = await startDeployment();
  const { page } = await openPage();
  await page.goto(url);
  const refused = await page.evaluate(`fetch(${JSON.stringify(objects)}).then(() => "answered", () => "refused")`);
  expect({ refused, handedOut: handedOut.length }).toEqual({ refused: "refused", handedOut: 0 });
});

test("saves a small export from the API, and a large one from its signed URL, which gets no token", async () => {
  const { url, newToken, handedOut, ...harness } = await startDeployment();
  const { secret } = await newToken();
  const { page } = await openPage({ acceptDownloads: true });
  await page.goto(url);
  await signIn(page, secret);
  const savedFrom = async (run: string): Promise<{ readonly download: Download; readonly bytes: Buffer }> => {
    await page.goto(`${url}#/run/${run}`);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export" }).click(),
    ]);
    return { download, bytes: readFileSync(await download.path()) };
  };
  const exported = async (run: string): Promise<string> => {
    const chunks: string[] = [];
    await exportRun(harness.world, { run, write: (chunk) => void chunks.push(chunk) });
    return chunks.join("");
  };

  const small = await started(harness);
  const one = await savedFrom(small);
  expect({ name: one.download.suggestedFilename(), bytes: one.bytes.toString() }).toEqual({
    name: `${small}.jsonl`,
    bytes: await exported(small),
  });
  expect(handedOut).toEqual([]);

  const large = await largeRun(harness);
  const two = await savedFrom(large);
  expect(two.download.suggestedFilename()).toBe(`${large}.jsonl.gz`);
  expect(gunzipSync(Buffer.from(two.bytes.toString(), "base64")).toString()).toBe(await exported(large));
  expect(handedOut.map(({ headers }) => ({ authorization: headers.authorization, referer: headers.referer }))).toEqual([
    { authorization: undefined, referer: undefined },
  ]);
  expect(page.url()).toContain(`${url}#/run/${large}`);
});

test("says why an export was not saved", async () => {
  const { url, newToken, ...harness } = await startDeployment();
  const run = await started(harness);
  const { page } = await openPage();
  await page.goto(url);
  await signIn(page, (await newToken()).secret);
  await page.goto(`${url}#/run/${run}`);
  await page.route(/\/export\?/, (route) =>
    route.fulfill({
      status: 413,
      json: { code: "TooLarge", detail: "the export is larger than 64 MB: use cairn export" },
    }),
  );
  await page.getByRole("button", { name: "Export" }).click();
  await expect
    .poll(() => page.getByRole("alert").innerText())
    .toBe("Not exported: the export is larger than 64 MB: use cairn export");
});
