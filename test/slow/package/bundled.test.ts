/**
 * The API and the workers in somebody's own server, bundled: agents are objects, and no file of a project is read. Each
 * program is made from the packed package by a bundler of the world, started alone in an empty folder, and asked over HTTP.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { build as esbuild } from "esbuild";
import { build as viteBuild } from "vite";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { builtPackages } from "../../../scripts/built.ts";
import { nightTest, sampled } from "../../support/gate/stride.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
/** What the programs need beside cairn, as it is installed in the repository. Others are installed for this test. */
const PACKAGES = ["zod", "express", "hono", "@hono/node-server", "@ai-sdk/provider"];

let dir: string;

const AGENTS = `
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";
const clerk = defineAgent({
  name: "clerk", version: "1", instructions: "Write the letter.", task: z.object({ to: z.string() }),
  model: scriptedModel({
    name: "m",
    reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "write", args: {} }] } : { text: "Written by " + calls[0].result }),
  }),
  tools: { write: tool({ input: z.object({}), effect: "none", run: () => "process " + (process.argv.length > 2) }) },
  budget: { beats: 5 },
});
export const agents = [clerk];
`;

const WORKER = `
import { workFor } from "cairn-run/worker";
import { agents } from "./agents.mjs";
workFor({ agents });
`;

const SERVED = `
import { createServer, SCOPES } from "cairn-run/server";
import { driveStore } from "cairn-run/worker";
import { agents } from "./agents.mjs";
const isAnn = (request) => request.headers.get("x-user") === "ann";
export const api = await createServer({
  agents, store: "./store", base: "/cairn", console: false,
  auth: (request) => (isAnn(request) ? { tenant: "local", actor: "ann", scopes: SCOPES } : null),
});
const entry = new URL("./cairn-worker.mjs", import.meta.url);
export const driving = await driveStore({ agents, entry, store: "./store", workers: 1 });
export const listening = (address) => console.log(JSON.stringify(address));
process.once("SIGTERM", async () => { await driving.stop(); api.close(); process.exit(0); });
`;

/** How each framework mounts the API, as the page says it. */
const MOUNTS: Readonly<Record<string, string>> = {
  express: `
import express from "express";
import { api, listening } from "./served.mjs";
const app = express();
app.use((request, response, next) => (request.path.startsWith("/cairn") ? api.listener(request, response) : next()));
const server = app.listen(0, "127.0.0.1", () => listening(server.address()));
`,
  hono: `
import { Hono } from "hono";
import { serve } from "@hono/node-server";
import { api, listening } from "./served.mjs";
const app = new Hono();
app.all("/cairn/*", (c) => api.fetch(c.req.raw));
serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, listening);
`,
  fastify: `
import fastify from "fastify";
import { api, listening } from "./served.mjs";
const app = fastify();
app.register(async (cairn) => {
  cairn.removeAllContentTypeParsers();
  cairn.addContentTypeParser("*", (request, payload, done) => done(null));
  cairn.all("/cairn/*", (request, reply) => { reply.hijack(); return api.listener(request.raw, reply.raw); });
});
await app.listen({ port: 0, host: "127.0.0.1" });
listening(app.server.address());
`,
};

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "cairn-bundled-"));
  const packages = join(dir, "node_modules");
  for (const name of PACKAGES) {
    mkdirSync(dirname(join(packages, name)), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(packages, name));
  }
  cpSync(join(builtPackages(), "cairn-run"), join(packages, "cairn-run"), { recursive: true });
  const others = sampled(["fastify"], ["fastify", "next", "react", "react-dom"]);
  const words = ["install", "--prefix", join(dir, "others"), ...others];
  execFileSync("npm", [...words, "--no-audit", "--no-fund"], { cwd: dir, stdio: "pipe" });
  symlinkSync(join(dir, "others", "node_modules", "fastify"), join(packages, "fastify"));
  write("agents.mjs", AGENTS);
  write("cairn-worker.mjs", WORKER);
  write("served.mjs", SERVED);
  for (const [name, text] of Object.entries(MOUNTS)) write(`${name}.mjs`, text);
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

const write = (name: string, text: string): void => writeFileSync(join(dir, name), text);

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** AWS clients load only in the AWS world, so a program on a local store leaves them out. */
const external = ["@aws-sdk/*", "@langchain/*", "@modelcontextprotocol/*", "@ai-sdk/*"];

type Bundler = (framework: string, out: string) => Promise<unknown>;

const BUNDLERS: Readonly<Record<string, Bundler>> = {
  esbuild: (framework, outdir) =>
    esbuild({
      ...{
        entryPoints: [`${framework}.mjs`, "cairn-worker.mjs"],
        outdir,
        absWorkingDir: dir,
        bundle: true,
        splitting: true,
      },
      ...{
        external,
        format: "esm",
        platform: "node",
        target: "node22",
        outExtension: { ".js": ".mjs" },
        logLevel: "error",
      },
      banner: {
        js: 'import { createRequire as requireOfBanner } from "node:module"; const require = requireOfBanner(import.meta.url);',
      },
    }),
  "vite's SSR build": (framework, outDir) =>
    viteBuild({
      ...{ root: dir, configFile: false, logLevel: "error" },
      ssr: { noExternal: true, external: ["express", "fastify"] },
      build: {
        ...{ ssr: true, outDir, target: "node22", minify: false },
        rolldownOptions: {
          input: [join(dir, `${framework}.mjs`), join(dir, "cairn-worker.mjs")],
          external: external.map((each) => new RegExp(`^${each.replace("*", "")}`)),
          output: { entryFileNames: "[name].mjs" },
        },
      },
    }),
};

/** In the gate each bundler and each framework, but not each pair of them. */
const CASES: readonly (readonly [string, string])[] = Object.keys(BUNDLERS).flatMap((bundler, row) =>
  Object.keys(MOUNTS)
    .filter((_, column) => sampled((row + column) % 2 === 0, true))
    .map((each) => [bundler, each] as const),
);

test.each(CASES)(
  "bundled by %s, %s serves a run that a worker process of the bundle works on",
  async (name, framework) => {
    const out = join(dir, `out-${name.replaceAll(/\W/g, "")}-${framework}`);
    await BUNDLERS[name]?.(framework, out);
    await expectServed(await started(out, [`${framework}.mjs`]));
  },
);

/** A run that is started over HTTP, and worked on by a worker process of `driveStore`. */
async function expectServed(url: string): Promise<void> {
  // A connection that is kept may be closed by the server while this process waits for its turn on a busy machine.
  const once = { connection: "close" };
  expect((await fetch(`${url}/cairn/runs`, { headers: once })).status).toBe(401);
  const headers = { "x-user": "ann", "content-type": "application/json", ...once };
  const body = JSON.stringify({ agent: "clerk", input: { to: "Ada" } });
  const begun = await fetch(`${url}/cairn/runs`, { method: "POST", headers, body });
  expect(begun.status).toBe(202);
  const { run } = (await begun.json()) as { readonly run: string };
  const stream = await fetch(`${url}/cairn/runs/${run}/events`, {
    headers: { ...headers, accept: "text/event-stream" },
  });
  expect(await stream.text()).toContain("event: end");
  const shown = await (await fetch(`${url}/cairn/runs/${run}`, { headers })).json();
  // The process of a worker has the words of its supervisor, so the tool ran there.
  expect(shown).toMatchObject({ status: "completed", result: "Written by process true" });
}

/** The route handler of Next.js, as the page says it. The runs are driven by another process. */
const ROUTE = `
import { createServer, SCOPES } from "cairn-run/server";
import { agents } from "../../../agents.mjs";
let opened;
const api = () => (opened ??= createServer({
  agents, store: process.env.MY_STORE, base: "/cairn", console: false,
  auth: (request) => (request.headers.get("x-user") === "ann" ? { tenant: "local", actor: "ann", scopes: SCOPES } : null),
}));
const handle = async (request) => (await api()).fetch(request);
export { handle as GET, handle as POST, handle as PUT, handle as DELETE };
`;

const DRIVER = `
import { driveStore } from "cairn-run/worker";
import { agents } from "./agents.mjs";
const entry = new URL("./cairn-worker.mjs", import.meta.url);
await driveStore({ agents, entry, store: process.env.MY_STORE, workers: 1 });
console.log(JSON.stringify({ port: 0 }));
`;

// At night: its packages have 350 MB, and it takes as long to install and to build as all other bundlers together.
nightTest("built by Next.js, a route handler serves a run that another process drives", async () => {
  const site = join(dir, "others");
  const route = join(site, "app", "cairn", "[[...path]]");
  mkdirSync(route, { recursive: true });
  for (const name of ["zod", "@ai-sdk/provider", "cairn-run"])
    cpSync(join(dir, "node_modules", name), join(site, "node_modules", name), { recursive: true, dereference: true });
  writeFileSync(join(route, "route.js"), ROUTE);
  writeFileSync(join(site, "app", "layout.js"), "export default ({ children }) => children;\n");
  writeFileSync(join(site, "next.config.mjs"), 'export default { serverExternalPackages: ["cairn-run"] };\n');
  for (const [name, text] of [
    ["agents", AGENTS],
    ["cairn-worker", WORKER],
    ["drive", DRIVER],
  ] as const)
    writeFileSync(join(site, `${name}.mjs`), text);
  const env = { ...process.env, NODE_ENV: "production", MY_STORE: join(site, "store"), NEXT_TELEMETRY_DISABLED: "1" };
  const next = join("node_modules", "next", "dist", "bin", "next");
  const { status, stdout, stderr } = spawnSync(process.execPath, [next, "build"], { cwd: site, env, encoding: "utf8" });
  expect(status, stdout + stderr).toBe(0);
  await started(site, ["drive.mjs"], env);
  await expectServed(await started(site, [next, "start", "-p", "0", "-H", "127.0.0.1"], env));
});

/**
 * Starts a program in its folder, and returns the address that it says. Its output is read to the end: a program whose
 * reader is gone dies of its next line, and Next.js says where it listens before it says that it is ready.
 */
function started(cwd: string, words: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const program = spawn(process.execPath, words, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  children.push(program);
  let [said, wrong] = ["", ""];
  program.stderr.on("data", (chunk: Buffer) => (wrong += String(chunk)));
  return new Promise((resolve, reject) => {
    program.stdout.on("data", (chunk: Buffer) => {
      said += String(chunk);
      const [, port] =
        /"port":(\d+)|http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.filter((each) => each !== undefined) ?? [];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    });
    program.on("close", () => reject(new Error(`it ended before it listened: ${said}${wrong}`)));
  });
}

/** A runtime without what only Node has: no hooks, no compile cache, no SQLite. */
const STUB = `
import { registerHooks } from "node:module";
const stub = 'export { createRequire } from "node:module?own"; import own from "node:module?own"; const { registerHooks, flushCompileCache, getCompileCacheDir, enableCompileCache, ...rest } = own; export default rest;';
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === "node:sqlite") throw new Error("no such module: node:sqlite");
    if (specifier === "node:module?own") return next("node:module", context);
    if (specifier === "node:module") return { url: "data:text/javascript," + encodeURIComponent(stub), shortCircuit: true };
    return next(specifier, context);
  },
});
`;

test("a runtime without Node's hooks, compile cache and SQLite imports the library and the HTTP client", () => {
  write("stub.mjs", STUB);
  write(
    "library.mjs",
    `${AGENTS}
import { connect } from "cairn-run/client";
const client = await connect({ api: "http://127.0.0.1:9", token: "t" });
console.log(agents[0].name, await client.list().catch(({ code }) => code));
const missing = await import("cairn-run/server").catch(({ message }) => message);
console.log(missing);`,
  );
  const { stdout, stderr } = spawnSync(process.execPath, ["--import", "./stub.mjs", "library.mjs"], {
    ...{ cwd: dir, encoding: "utf8" },
  });
  expect({ stdout, stderr }).toEqual({ stdout: "clerk Unreachable\nno such module: node:sqlite\n", stderr: "" });
});
