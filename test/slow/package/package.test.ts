/**
 * The package as its users get it: built, packed, and installed from the tarball in a folder outside the repository.
 * Its agents are checked by the compiler, run on the oldest and on the present Node, killed, and resumed.
 *
 * More than 400 lines: one installation, which takes a minute, serves all cases.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { builtPackages } from "../../../scripts/built.ts";
import { USER_PAGES } from "../../../scripts/docs/pages.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { sampled } from "../../support/gate/stride.ts";
import { envWith, startDev } from "./dev-server.ts";
import { officeIn, warehouseIn } from "./template-effects.ts";
import {
  AGENT,
  AGENT_TEST,
  CLIENT_PROGRAM,
  EVERY_EXPORT,
  SERVED_ANYWHERE,
  SERVER,
  TYPED,
  WRITER,
  importedIn,
} from "./project-files.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const BUILD = builtPackages();
interface Exporting {
  readonly exports: Readonly<Record<string, unknown>>;
}

/** The packages named `node` contain a Node of that version. */
const NODES = { tooOld: "20", oldest: "22" } as const;

let dir: string;
let main: string;
/** The name of the packed package, in the same folder. */
let tarball: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "cairn-package-"));
  tarball = npm("pack", join(BUILD, "cairn-run")).trim();
  write("package.json", JSON.stringify({ name: "my-agents", private: true, type: "module" }));
  write("agent.ts", AGENT);
  write("agent.test.ts", AGENT_TEST);
  write("server.ts", SERVER);
  write("writer.ts", WRITER);
  write("client.ts", CLIENT_PROGRAM);
  write("served.mjs", SERVED_ANYWHERE);
  write("cairn.config.ts", 'export const config = { agents: ["./agent.ts"] };\n');
  const nodes = Object.entries(NODES).map(([name, version]) => `${name}@npm:node@${version}`);
  npm("install", `./${tarball}`, "zod", "@types/node", ...nodes);
  main = join(dir, "node_modules", "cairn-run", "dist", "cli", "main.js");
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

const write = (name: string, text: string): void => writeFileSync(join(dir, name), text);

const npm = (...words: readonly string[]): string =>
  execFileSync("npm", [...words, "--no-audit", "--no-fund"], { cwd: dir, encoding: "utf8", stdio: "pipe" });

/** In the gate, the tests of the sources play on this Node, and the package on the oldest one. */
const ON_NODES: readonly (readonly [string, () => string])[] = sampled(
  [["the oldest Node", () => nodeOf("oldest")]],
  [
    ["the oldest Node", () => nodeOf("oldest")],
    ["this Node", () => process.execPath],
  ],
);

const nodeOf = (name: keyof typeof NODES): string => join(dir, "node_modules", name, "bin", "node");

/** What the compiler says of the project. Several checkers would each work out the types of all packages. */
function typeErrorsIn(project: string): string {
  const tsc = join(ROOT, "node_modules", ".bin", "tsc");
  return spawnSync(tsc, ["--checkers", "1"], { cwd: project, encoding: "utf8" }).stdout;
}

/** Runs a command on that Node, and returns what it printed. */
function cairn(node: string, ...words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(node, [main, ...words], { cwd: dir, encoding: "utf8" });
  return { status, stdout, stderr };
}

test.each([["nodenext"], ["bundler"]])(
  "its types are complete for a project with module resolution %s",
  (resolution) => {
    const module = resolution === "bundler" ? "esnext" : "nodenext";
    const compilerOptions = {
      ...{ module, moduleResolution: resolution, target: "esnext", strict: true, noEmit: true, types: ["node"] },
      ...{ skipLibCheck: false, allowImportingTsExtensions: true, erasableSyntaxOnly: true },
    };
    write(
      "tsconfig.json",
      JSON.stringify({ compilerOptions, files: ["agent.ts", "agent.test.ts", "client.ts", "server.ts"] }),
    );
    expect(typeErrorsIn(dir)).toBe("");
  },
);

test("every entry point has its types: nothing that it exports is any, with its optional peers installed", () => {
  const { exports } = JSON.parse(readFileSync(join(dirname(main), "..", "..", "package.json"), "utf8")) as Exporting;
  expect(importedIn(EVERY_EXPORT).toSorted()).toEqual(Object.keys(exports).toSorted());
  npm("install", "@langchain/core", "@langchain/langgraph-checkpoint", "@modelcontextprotocol/server");
  write("every-export.ts", EVERY_EXPORT);
  const compilerOptions = {
    ...{ module: "nodenext", target: "esnext", strict: true, noEmit: true, types: ["node"], skipLibCheck: false },
    resolveJsonModule: true,
  };
  write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["every-export.ts"] }));
  expect(typeErrorsIn(dir)).toBe("");
});

/** The program of each test of types, where the project has zod 3: it has zod 4 at this path. */
const withZod3 = (text: string): string => text.replaceAll('from "zod"', 'from "zod/v4"');

/** The oldest supported version of each major one. */
const ZODS: readonly string[] = ["3.25.76", "4.0.0"];

test.each(sampled(ZODS, [...ZODS, "4.1.0"]))("its types and its agents work with zod %s", (version) => {
  const home = join(dir, `zod ${version}`);
  mkdirSync(home);
  const take = (name: string, text: string): void =>
    writeFileSync(join(home, name), version.startsWith("3.") ? withZod3(text) : text);
  take("package.json", JSON.stringify({ name: "my-agents", private: true, type: "module" }));
  take("every-export.ts", EVERY_EXPORT);
  take("agent.ts", AGENT);
  const peers = ["@langchain/core", "@langchain/langgraph-checkpoint", "@modelcontextprotocol/server"];
  npm("install", "--prefix", home, join(dir, tarball), `zod@${version}`, "@types/node", ...peers);
  const compilerOptions = {
    ...{ module: "nodenext", target: "esnext", strict: true, noEmit: true, types: ["node"], skipLibCheck: false },
    resolveJsonModule: true,
  };
  take("tsconfig.json", JSON.stringify({ compilerOptions, files: ["every-export.ts", "agent.ts"] }));
  expect(typeErrorsIn(home)).toBe("");
  const own = join(home, "node_modules", "cairn-run", "dist", "cli", "main.js");
  const words = [own, "start", "./agent.ts", "--input", '{"to":"Ann"}', "--wait"];
  expect(spawnSync(process.execPath, words, { cwd: home, encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
});

test("without the clients of AWS the AWS world is refused with the command to type", () => {
  const { status, stderr } = cairn(process.execPath, "list", "--world", "aws");
  const clients = ["cloudwatch", "dynamodb", "kms", "lambda", "s3", "scheduler", "sfn", "ssm", "sts"];
  expect(status).toBe(2);
  expect(stderr).toMatch(/^error PackageMissing: the world aws needs 9 clients of AWS, which are not installed\nwhy: /);
  expect(stderr).toContain(`next: npm install ${clients.map((each) => `@aws-sdk/client-${each}`).join(" ")}\n`);
});

test("init --aws names the clients of AWS that the package asks for", () => {
  cairn(process.execPath, "init", "my-aws", "--aws");
  const manifestIn = (folder: string) =>
    JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Readonly<
      Record<string, Readonly<Record<string, string>>>
    >;
  const clients = ([name]: readonly [string, string]): boolean => name.startsWith("@aws-sdk/");
  const asked = Object.entries(manifestIn(join(BUILD, "cairn-run"))["peerDependencies"] ?? {}).filter(clients);
  expect(asked.length).toBeGreaterThan(0);
  expect(Object.entries(manifestIn(join(dir, "my-aws"))["dependencies"] ?? {}).filter(clients)).toEqual(asked);
});

test("it has the pages for users, and each relative link of them and of its README leads to a file that it has", () => {
  const own = join(dirname(main), "..", "..");
  const pages = [...USER_PAGES, "docs/json-schemas.json"];
  const packed = readdirSync(join(own, "docs")).map((name) => `docs/${name}`);
  expect(packed.toSorted()).toEqual(pages.toSorted());
  const readme = readFileSync(join(own, "README.md"), "utf8");
  for (const page of ["README.md", ...USER_PAGES]) {
    const prose = readFileSync(join(own, page), "utf8").replaceAll(/^```[^]*?^```$/gm, "");
    const links = [...prose.matchAll(/\]\((?![a-z]+:|#)([^)#]+)/g)].map(([, path = ""]) => join(dirname(page), path));
    expect({ page, missing: links.filter((path) => !existsSync(join(own, path))) }).toEqual({ page, missing: [] });
  }
  expect(readme).toContain("npx cairn-run init my-agents");
});

test("its chunks are ASCII, since one other character doubles what the text of a file takes in memory", () => {
  const chunks = join(BUILD, "cairn-run", "dist", "chunks");
  const files = readdirSync(chunks);
  expect(files.filter((file) => /[^\0-\x7f]/.test(readFileSync(join(chunks, file), "utf8")))).toEqual([]);
  expect(files.length).toBeGreaterThan(0);
});

test("a model by name needs the package of its provider, and finds it once it is installed", () => {
  const start = () => cairn(process.execPath, "start", "./writer.ts", "--store", "written");
  const missing = start();
  expect(missing).toMatchObject({ status: 4, stdout: "" });
  expect(missing.stderr).toMatch(/^error PackageMissing: .*\nwhy: .*\nnext: npm install @ai-sdk\/google\n$/);
  npm("install", "@ai-sdk/google");
  expect(start()).toMatchObject({ status: 0, stderr: "" });
});

test.each(ON_NODES)(
  "on %s TypeScript that is more than types needs esbuild, and finds it once it is installed",
  (_, nodeOfCase) => {
    for (const left of ["esbuild", "@esbuild", ".cache"]) {
      rmSync(join(dir, "node_modules", left), { recursive: true, force: true });
    }
    rmSync(join(dir, "typed"), { recursive: true, force: true });
    write("words.ts", TYPED.words);
    write("typed.ts", TYPED.agent);
    const start = (...words: readonly string[]) =>
      cairn(nodeOfCase(), "start", "./typed.ts", "--store", "typed", "--input", '{"to":"Ann"}', ...words);
    expect(start().stderr).toMatch(
      /^error TransformerMissing: .*words\.ts:2 has an enum, .*\nwhy: .*\nnext: npm install --save-dev esbuild\n$/,
    );
    npm("install", "--no-save", "esbuild");
    expect(start("--wait")).toMatchObject({ status: 0, stdout: expect.stringContaining("All are sent.") });
  },
);

test("an old Node prints one error that says what to do", () => {
  const { status, stdout, stderr } = cairn(nodeOf("tooOld"), "list");
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toMatch(
    /^error NodeTooOld: cairn .+ needs Node 22\.18 or newer, and this is v20\..+\nwhy: .+\nnext: .+\n$/,
  );
});

test.each(ON_NODES)(
  "on %s a run is killed with its supervisor, and resumed without a second letter",
  async (_, nodeOfCase) => {
    const node = nodeOfCase();
    for (const left of ["letters", ".cairn"]) rmSync(join(dir, left), { recursive: true, force: true });
    const started = cairn(node, "start", "clerk", "--input", '{"to":"Ann"}', "--json");
    expect(started).toMatchObject({ status: 0, stderr: "" });
    const { run } = JSON.parse(started.stdout) as { readonly run: string };

    write("slow", "");
    const worker = spawn(node, [main, "work"], { cwd: dir, detached: true, stdio: "ignore" });
    await vi.waitUntil(() => existsSync(join(dir, "letters")), { timeout: LIMITS.startMs });
    process.kill(-(worker.pid ?? 0), "SIGKILL");
    rmSync(join(dir, "slow"));

    const second = spawn(node, [main, "work"], { cwd: dir, stdio: "ignore" });
    try {
      const shown = () => JSON.parse(cairn(node, "show", run, "--json").stdout) as { readonly status: string };
      await vi.waitUntil(() => shown().status === "completed", { timeout: LIMITS.runMs, interval: 500 });
    } finally {
      second.kill("SIGTERM");
    }
    const letters = readFileSync(join(dir, "letters"), "utf8").trim().split("\n");
    expect(new Set(letters).size).toBe(3);
    expect(new Set(letters.map((line) => line.split(" ")[1])).size).toBe(3);
    expect(cairn(node, "verify", run).status).toBe(0);
  },
);

test.each(ON_NODES)("on %s a user's test kills the agent in memory, with the test runner of Node", (_, nodeOfCase) => {
  const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const ran = spawnSync(nodeOfCase(), ["--test", "agent.test.ts"], { cwd: dir, encoding: "utf8", env });
  expect(ran).toMatchObject({ status: 0, stdout: expect.stringMatching(/^(# |ℹ )pass 3$/m) });
});

test("a server of one's own serves the API below a path, drives the runs, and stops when its work is done", async () => {
  for (const left of ["letters", ".cairn"]) rmSync(join(dir, left), { recursive: true, force: true });
  const server = spawn(process.execPath, ["server.ts"], { cwd: dir, stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(server, "exit");
  try {
    const [line] = (await once(server.stdout, "data")) as [Buffer];
    const { address, second } = JSON.parse(line.toString()) as { address: { port: number }; second: string };
    expect(second).toBe("StoreSupervised");
    const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`http://127.0.0.1:${address.port}${path}`, init);
    const [body, json] = ['{"agent":"clerk","input":{"to":"Ann"}}', { "content-type": "application/json" }];
    expect((await ask("/cairn/runs", { method: "POST", body, headers: json })).status).toBe(401);
    expect((await ask("/runs")).status).toBe(404);
    const started = await ask("/cairn/runs", { method: "POST", body, headers: { ...json, "x-user": "ann" } });
    expect(started.status).toBe(202);
    const at = started.headers.get("location") ?? "";
    expect(at).toMatch(/^\/cairn\/runs\/local-/);
    const events = await ask(`${at}/events`, { headers: { accept: "text/event-stream", "x-user": "ann" } });
    expect(await events.text()).toMatch(/event: end\ndata: \{"status":"completed"\}/);
  } finally {
    server.kill("SIGTERM");
  }
  expect(await exited).toEqual([0, null]);
  expect(readFileSync(join(dir, "letters"), "utf8").trim().split("\n")).toHaveLength(3);
});

const NODE: readonly [string, () => string] = ["Node", () => process.execPath];

test.each(sampled([NODE], [NODE, ["Bun", bun]]))("the client starts and follows a run in %s", async (_, runtimeOf) => {
  const runtime = runtimeOf();
  for (const left of ["letters", ".cairn"]) rmSync(join(dir, left), { recursive: true, force: true });
  const server = await startDev(dir, envWith(process.execPath));
  try {
    const { stdout, stderr } = spawnSync(runtime, ["client.ts", server.url], { cwd: dir, encoding: "utf8" });
    const seen = { status: "completed", last: "RunEnded", missing: "RunUnknown" };
    expect({ stdout, stderr }).toEqual({ stdout: `${JSON.stringify(seen)}\n`, stderr: "" });
  } finally {
    await server.end("SIGTERM");
  }
});

/** The program of Bun, which its package for this system has; some versions name it as on Windows. */
function bun(): string {
  npm("install", "bun", "--ignore-scripts");
  const packages = join(dir, "node_modules", "@oven");
  const folder = join(packages, readdirSync(packages)[0] ?? "", "bin");
  return join(folder, existsSync(join(folder, "bun")) ? "bun" : "bun.exe");
}

/** The program of Deno, which its package for this system has. */
function deno(): string {
  npm("install", "deno", "--ignore-scripts");
  const packages = join(dir, "node_modules", "@deno");
  return join(packages, readdirSync(packages)[0] ?? "", "deno");
}

const RUNTIMES: readonly (readonly [string, () => readonly string[]])[] = [
  ["Node", () => [process.execPath]],
  ["Bun", () => [bun(), "run"]],
  ["Deno", () => [deno(), "run", "--allow-all", "--node-modules-dir=manual"]],
];

test.each(sampled(RUNTIMES.slice(0, 1), RUNTIMES))("the API of a store is served in %s", (name, wordsOf) => {
  const [program = "", ...words] = wordsOf();
  const { stdout, stderr } = spawnSync(program, [...words, "served.mjs"], { cwd: dir, encoding: "utf8" });
  const drives = name === "Node" ? "drives" : "NodeNeeded";
  expect({ stdout, stderr }).toEqual({
    stdout: `${JSON.stringify({ started: 202, shown: "queued", drives })}\n`,
    stderr: "",
  });
});

const REFUND = { order: "A-2", complaint: "There was no lamp." };

describe.each([
  {
    ...{ template: "basic", nodeOf: () => nodeOf("oldest"), agent: "refunds", input: REFUND, end: "completed" },
    effects: (at: string) => officeIn(at, "refunds", "mails"),
  },
  {
    ...{ template: "chat", nodeOf: () => nodeOf("oldest"), agent: "support", input: "Refund the lamp of A-2, please." },
    ...{ end: "waiting for a message", effects: (at: string) => officeIn(at, "refunds") },
  },
  {
    ...{ template: "scheduled", nodeOf: () => process.execPath, agent: "digest", input: { team: "support" } },
    ...{ end: "completed", effects: (at: string) => officeIn(at, "handed-over", "posts") },
  },
  {
    ...{ template: "orders", nodeOf: () => nodeOf("oldest"), agent: "orders", input: { order: "A-2" } },
    ...{ end: "completed", effects: warehouseIn },
  },
])("a project from the template $template", ({ template, nodeOf: nodeOfCase, agent, input, end, effects }) => {
  const project = (): string => join(dir, `my ${template}`);
  const env = (): NodeJS.ProcessEnv => envWith(nodeOfCase());
  const run = (program: string, ...words: readonly string[]) =>
    spawnSync(program, words, { cwd: project(), encoding: "utf8", env: env() });

  beforeAll(() => {
    cairn(process.execPath, "init", `my ${template}`, "--template", template);
    run("npm", "install", join(dir, tarball), "--no-audit", "--no-fund");
  });

  test("is checked by the compiler, and its tests kill the agent", () => {
    expect(run("npm", "run", "types")).toMatchObject({ status: 0 });
    expect(run("npm", "test")).toMatchObject({ status: 0, stdout: expect.stringMatching(/pass 3$/m) });
  });

  // In the gate for one of them: the tests of the project kill each of the others.
  test.each(sampled(template === "orders" ? [agent] : [], [agent]))(
    "its agent %s is started over HTTP, killed while it waits for an approval, approved, and acts once",
    async () => {
      const killed = await startDev(project(), env());
      const { status, body } = await killed.ask("/runs", { agent, input });
      expect(status).toBe(202);
      const id = String(body["run"]);
      await killed.reaches(id, "waiting");
      await killed.end("SIGKILL");
      const resumed = await startDev(project(), env());
      try {
        const { gates } = (await resumed.ask("/approvals")).body as { readonly gates: readonly { gate: string }[] };
        expect(gates).toMatchObject([{ run: id }]);
        const approved = await resumed.ask(`/runs/${id}/approvals/${gates[0]?.gate}`, { as: "approve" });
        expect(approved).toMatchObject({ status: 202 });
        await resumed.reaches(id, end);
      } finally {
        await resumed.end("SIGTERM");
      }
      expect(new Set(effects(project()))).toEqual(new Set([1]));
    },
  );
});

test("npm create makes a project with the package, under a name of its own if none is typed", () => {
  const [packed = ""] = npm("pack", join(BUILD, "create-cairn-run"), "--silent").trim().split("\n");
  npm("install", packed);
  const created = spawnSync("npx", ["create-cairn-run", "--template", "orders"], { cwd: dir, encoding: "utf8" });
  expect(created).toMatchObject({ status: 0, stderr: "" });
  expect(created.stdout).toContain("my-agents has a new project, from the template orders");
  expect(existsSync(join(dir, "my-agents", "agents", "orders", "agent.ts"))).toBe(true);
});

test("init replaces no file, and says what is there", () => {
  write("notes.txt", "mine");
  const { status, stderr } = cairn(process.execPath, "init", ".");
  expect(status).toBe(4);
  expect(stderr).toMatch(
    /^error FolderNotEmpty: .+ is not empty: it has .+\nwhy: .+nothing was written\nnext: npx .+\n$/,
  );
  expect(readFileSync(join(dir, "notes.txt"), "utf8")).toBe("mine");
});

test("a bundler for browsers takes the client without a module of Node", async () => {
  write("page.ts", 'import { connect } from "cairn-run/client";\nawait connect({ api: location.origin });\n');
  const built = await build({
    ...{ absWorkingDir: dir, entryPoints: ["page.ts"], bundle: true, write: false, metafile: true },
    ...{ format: "esm", platform: "browser", target: "es2022" },
  });
  const loaded = Object.keys(built.metafile.inputs);
  expect(loaded).toContain("node_modules/cairn-run/dist/client/browser.js");
  expect(loaded.filter((file) => !file.startsWith("node_modules/cairn-run/"))).toEqual(["page.ts"]);
});

test("the package is clean by publint and by the types' wrongs", () => {
  const bin = (name: string): string => join(ROOT, "node_modules", ".bin", name);
  // They write into the folder, which others read.
  const folder = join(dir, "checked");
  cpSync(join(BUILD, "cairn-run"), folder, { recursive: true });
  expect(spawnSync(bin("publint"), [folder, "--strict"], { encoding: "utf8" }).status).toBe(0);
  const attw = spawnSync(bin("attw"), ["--pack", folder, "--profile", "esm-only"], { encoding: "utf8" });
  expect({ status: attw.status, stdout: attw.stdout }).toMatchObject({ status: 0 });
});
