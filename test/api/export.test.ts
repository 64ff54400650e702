/** `GET /runs/{run}/export`: a stream, a bounded response, or a redirect to an object; always what `cairn export` writes. */
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createApi } from "../../src/api/app.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import { exportRun } from "../../src/features/archive/export.ts";
import { type ApiHarness, createApiHarness } from "../support/harness/api-harness.ts";
import { largeRun, withLinks } from "../support/harness/large-run.ts";

/** The export as the operation writes it. */
async function exportedFrom({ world }: ApiHarness, run: string): Promise<string> {
  const chunks: string[] = [];
  await exportRun(world, { run, write: (chunk) => void chunks.push(chunk) });
  return chunks.join("");
}

const begun = async ({ ask }: ApiHarness): Promise<string> =>
  String((await ask({ path: "/runs", json: { agent: "actor" } })).body["run"]);

test("streams the whole export of a store without URLs, whatever its size", async () => {
  const harness = createApiHarness();
  const run = await largeRun(harness);
  const { status, headers, text } = await harness.ask({ path: `/runs/${run}/export` });
  expect({ status, contentType: headers.get("content-type") }).toEqual({
    status: 200,
    contentType: "application/jsonl",
  });
  expect(text.length).toBeGreaterThan(SIZES.httpBodyBytesMax);
  expect(text).toBe(await exportedFrom(harness, run));
});

test("breaks the stream off if a part cannot be read, so that no reader takes it for whole", async () => {
  const harness = createApiHarness();
  const run = await largeRun(harness);
  const { objects } = harness.world;
  const failing = {
    ...harness.world,
    objects: { ...objects, get: async (key: string) => (key.includes("/blobs/") ? null : objects.get(key)) },
  };
  const api = createApi<object>({
    ...{ world: failing, agentOf: harness.agentOf },
    ...{ callerOf: () => ({ tenant: "local", actor: "ann", scopes: SCOPES }), baseOf: () => "" },
  });
  const response = await api.fetch(new Request(`http://cairn.test/runs/${run}/export`), {});
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow("blob");
});

test("answers a small export at once where the store has URLs", async () => {
  const harness = createApiHarness({}, withLinks);
  const run = await begun(harness);
  const { status, text } = await harness.ask({ path: `/runs/${run}/export` });
  expect({ status, text }).toEqual({ status: 200, text: await exportedFrom(harness, run) });
});

test("redirects to the stored, gzipped export if it is large, and stores it once", async () => {
  const harness = createApiHarness({}, withLinks);
  const run = await largeRun(harness);
  const first = await harness.ask({ path: `/runs/${run}/export` });
  const again = await harness.ask({ path: `/runs/${run}/export` });
  expect({ first: first.status, again: again.status }).toEqual({ first: 303, again: 303 });
  const location = new URL(first.headers.get("location") ?? "");
  expect(again.headers.get("location")).toBe(location.href);
  expect(location.search).toBe(`?seconds=300&file=${run}.jsonl.gz`);
  const stored = harness.world.store.objects.get(location.pathname.slice(1)) ?? new Uint8Array();
  expect(gunzipSync(stored).toString("utf8")).toBe(await exportedFrom(harness, run));
});

test("names the URL of a large export in a document if no redirect is wanted, and then answers a small one as ever", async () => {
  const harness = createApiHarness({}, withLinks);
  const asked = (run: string) => harness.ask({ path: `/runs/${run}/export?redirect=false` });
  const [large, small] = [await largeRun(harness), await begun(harness)];
  const { status, headers, body } = await asked(large);
  expect({ status, location: headers.get("location"), cacheControl: headers.get("cache-control") }).toEqual({
    status: 200,
    location: null,
    cacheControl: "no-store",
  });
  const redirected = await harness.ask({ path: `/runs/${large}/export?redirect=true` });
  expect(body).toEqual({ location: redirected.headers.get("location"), seconds: 300 });
  expect((await asked(small)).text).toBe(await exportedFrom(harness, small));
});

test("refuses an export that is larger than the process may hold, and stores nothing", async () => {
  const harness = createApiHarness({}, withLinks, undefined, { exportBytesMax: 1 });
  const run = await largeRun(harness);
  const before = harness.world.store.objects.size;
  const { status, body } = await harness.ask({ path: `/runs/${run}/export` });
  expect({ status, code: body["code"], objects: harness.world.store.objects.size }).toEqual({
    status: 413,
    code: "TooLarge",
    objects: before,
  });
});
