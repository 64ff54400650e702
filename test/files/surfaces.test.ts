/** Files over HTTP, by the client and on the command line. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { expect, onTestFinished, test } from "vitest";
import { createApi } from "../../src/api/app.ts";
import { connect } from "../../src/client/index.ts";
import { sha256 } from "../../src/codec/canonical.ts";
import { SIZES } from "../../src/codec/limits.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { World } from "../../src/ports/world.ts";
import { ANN, createApiHarness } from "../support/harness/api-harness.ts";
import { beginRun, createLocalHarness, drive, runnerOf } from "../support/harness/drive.ts";
import { runCli } from "../support/processes/cli-in-process.ts";
import { pdf, png, screenshotAgent } from "./support.ts";

const PHOTO = png("photo");
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const sent = (bytes: Uint8Array, of: object = {}) => ({ name: "photo.png", base64: base64(bytes), ...of });
const TRIP = { agent: "traveller", input: { to: "Lisbon", nights: [1] } };

async function started(files: readonly object[], change: (world: World) => World = (world) => world) {
  const api = createApiHarness({}, change);
  const answer = await api.ask({ method: "POST", path: "/runs", json: { ...TRIP, files } });
  return { api, answer, run: String(answer.body["run"]) };
}

test("a file of a start is shown and handed out as an attachment", async () => {
  const { api, answer, run } = await started([sent(PHOTO)]);
  expect(answer.status).toBe(202);
  const file = { file: sha256(PHOTO), mediaType: "image/png", bytes: PHOTO.byteLength, name: "photo.png" };
  expect((await api.ask({ path: `/runs/${run}` })).body).toMatchObject({
    files: [{ ...file, source: "task", inResult: false }],
  });
  for (const name of [file.file, file.file.slice(0, 8), file.name]) {
    const { status, headers, text } = await api.ask({ path: `/runs/${run}/files/${name}` });
    expect({ status, text }).toEqual({ status: 200, text: new TextDecoder().decode(PHOTO) });
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "image/png",
      "content-disposition": `attachment; filename="photo.png"; filename*=UTF-8''photo.png`,
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; sandbox",
      etag: `"${file.file}"`,
    });
  }
});

test("a page is handed out as bytes", async () => {
  const { api, run } = await started([sent(Buffer.from("<script>"), { name: "page.html" })]);
  const { headers } = await api.ask({ path: `/runs/${run}/files/page.html` });
  expect(headers.get("content-type")).toBe("application/octet-stream");
});

test("an unknown file, a file of another tenant's run, and one that two files are named like is not found", async () => {
  const { api, run } = await started([sent(PHOTO), sent(pdf(), { name: "photo.png" })]);
  for (const name of ["photo.png", "0".repeat(64), "..%2f..%2fsnapshots"]) {
    expect((await api.ask({ path: `/runs/${run}/files/${name}` })).body).toMatchObject({
      status: 404,
      code: "FileUnknown",
    });
  }
  const stranger = { caller: { ...ANN, tenant: "other", actor: "eve" } };
  const answer = await api.ask({ path: `/runs/${run}/files/${sha256(PHOTO)}` }, stranger);
  expect(answer.body).toMatchObject({ status: 404, code: "RunUnknown" });
});

test("a file that is not accepted is refused with its reason, in a start and in a message", async () => {
  const { api, run } = await started([]);
  const fake = sent(pdf(), { mediaType: "image/png" });
  const wrong = {
    status: 422,
    code: "FileInvalid",
    detail: expect.stringMatching(/photo\.png is no image\/png/) as string,
  };
  expect((await started([fake])).answer.body).toMatchObject(wrong);
  const message = await api.ask({
    method: "POST",
    path: `/runs/${run}/messages`,
    json: { text: "see", files: [fake] },
  });
  expect(message.body).toMatchObject(wrong);
  const many = Array.from({ length: SIZES.filesMax + 1 }, () => sent(PHOTO));
  expect((await started(many)).answer.body).toMatchObject({ status: 422, code: "RequestInvalid" });
  expect((await started([{ name: "a", base64: "no base64!" }])).answer.body).toMatchObject({
    errors: [{ pointer: "#/files/0/base64", detail: "it is not base64" }],
  });
});

test("where the store hands files out, the answer is its address, and the client follows it without credentials", async () => {
  const seen: (string | null)[] = [];
  const bucket = serve({
    ...{ port: 0, hostname: "127.0.0.1" },
    fetch: (request) => {
      seen.push(request.headers.get("authorization"));
      return new Response(Buffer.from(PHOTO));
    },
  });
  onTestFinished(() => void bucket.close());
  await new Promise((resolve) => bucket.once("listening", resolve));
  const { port } = bucket.address() as { readonly port: number };
  const links = { linkTo: async (key: string) => `http://127.0.0.1:${port}/${key}` };
  const { api, run } = await started([sent(PHOTO)], (world) => ({ ...world, links }));
  const answer = await api.ask({ path: `/runs/${run}/files/photo.png` });
  expect({ status: answer.status, text: answer.text, cacheControl: answer.headers.get("cache-control") }).toEqual({
    status: 303,
    text: "",
    cacheControl: "no-store",
  });
  expect(answer.headers.get("location")).toMatch(new RegExp(`/runs/local/${run}/[a-z0-9]+/files/${sha256(PHOTO)}$`));
  const app = createApi<object>({
    ...{ world: { ...api.world, links }, agentOf: api.agentOf, baseOf: () => "" },
    callerOf: () => ANN,
  });
  const client = await connect({
    api: "http://cairn.test",
    token: "secret",
    fetch: async (request) => app.fetch(request as Request, {}),
  });
  expect(Buffer.from(await client.file(run, "photo.png"))).toEqual(Buffer.from(PHOTO));
  expect(seen).toEqual([null]);
});

test("the client sends files with a start and a message, and reads them back", async () => {
  const { agent } = screenshotAgent();
  const { dir, world } = createLocalHarness();
  const client = await connect({ store: dir, agents: { screenshots: agent as Agent } });
  onTestFinished(() => client.close());
  const { run } = await client.start("screenshots", { page: "start" }, { files: [{ name: "a.pdf", bytes: pdf() }] });
  const large = Uint8Array.from([...png(), ...new Uint8Array(100_000).fill(7)]);
  const message = { id: "m1", files: [{ name: "large.png", bytes: large }] };
  expect(await client.send(run, "look", message)).toMatchObject({ delivered: true });
  expect(await client.send(run, "look", message)).toMatchObject({ delivered: false });
  const row = await world.table.read(run, world.clock.now());
  await drive(runnerOf(world, agent as Agent), {
    run,
    born: row?.born ?? "",
    chain: 1,
    epoch: 0,
    agent: "screenshots",
  } as never);
  const { files, result } = await client.get(run);
  expect(files.map(({ name, source }) => `${name} ${source}`)).toEqual([
    "a.pdf task",
    expect.stringMatching(/^large\.png user:.+@/),
    "start.png tool:screenshot",
  ]);
  expect(result).toMatch(/^It is [0-9a-f]{16}\.$/);
  expect(Buffer.from(await client.file(run, "large.png"))).toEqual(Buffer.from(large));
  await expect(client.file(run, "none.png")).rejects.toMatchObject({ code: "FileUnknown", status: 404 });
});

test("the command line sends files, shows them, and writes them without replacing one", async () => {
  const { agent } = screenshotAgent(PHOTO);
  const { dir, world } = createLocalHarness();
  const payload = await beginRun(world, agent as Agent, { page: "start" });
  writeFileSync(join(dir, "scan.pdf"), pdf());
  const { run } = payload;
  const first = await runCli(dir, "send", run, "see", "--file", "scan.pdf", "--key", "m");
  expect(first).toMatchObject({ exit: 0, err: "" });
  await drive(runnerOf(world, agent as Agent), payload);
  const shown = await runCli(dir, "show", run);
  expect(shown.out).toMatch(/file +[0-9a-f]{16} {2}scan\.pdf \(application\/pdf, 13 bytes\), from user:/);
  expect(shown.out).toMatch(/result file +[0-9a-f]{16} {2}start\.png \(image\/png, 13 bytes\), from tool:screenshot/);
  const timeline = await runCli(dir, "timeline", run);
  expect(timeline.out).toMatch(/says: see, with scan\.pdf \(application\/pdf, 13 bytes\)/);
  expect(timeline.out).toMatch(/screenshot \(c1\) succeeded, with start\.png/);
  const written = await runCli(dir, "file", run, "start.png");
  expect(written).toMatchObject({
    exit: 0,
    out: expect.stringMatching(/start\.png {2}start\.png, image\/png, 13 bytes/) as string,
  });
  expect(readFileSync(join(dir, "start.png"))).toEqual(Buffer.from(PHOTO));
  expect(await runCli(dir, "file", run, "start.png")).toMatchObject({
    exit: 4,
    err: expect.stringContaining("FileExists") as string,
  });
  const out = await runCli(dir, "file", run, sha256(PHOTO).slice(0, 8), "--out", "b.png", "--json");
  expect(JSON.parse(out.out)).toMatchObject({ run, file: sha256(PHOTO), path: join(dir, "b.png") });
  expect(await runCli(dir, "file", run, "none")).toMatchObject({
    exit: 3,
    err: expect.stringContaining("FileUnknown") as string,
  });
  const absent = await runCli(dir, "send", run, "see", "--file", "absent.pdf");
  expect(absent).toMatchObject({ exit: 2, err: expect.stringContaining("absent.pdf cannot be read") as string });
});
