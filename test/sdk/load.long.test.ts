/** Loading config and agent files: they are found and loaded, or refused with the place of the problem. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/sdk/config.ts";
import { loadAgentFile } from "../../src/sdk/load.ts";

const ROOT = join(import.meta.dirname, "../..");

let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "cairn-load-"));
});
afterAll(() => rm(dir, { recursive: true }));

/** Writes a file below the temporary directory. */
async function file(name: string, content: string): Promise<string> {
  const path = join(dir, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  return path;
}

const coded = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error;

const priced = (price: string): string => `export const config = { agents: [], prices: { m: { ${price} } } };`;

test("a file that Node does not read as a module says what to write into package.json", async () => {
  await file("commonjs/package.json", '{ "type": "commonjs" }');
  const program = `import { importFile } from ${JSON.stringify(join(ROOT, "src/sdk/import-file.ts"))};
    for (const each of process.argv.slice(1)) console.log((await importFile(each)).why);`;
  const exported = await file("commonjs/exports.ts", "export const agents = [];");
  const imported = await file("commonjs/imports.ts", 'import { z } from "zod";');
  const args = ["--input-type=module", "-e", program, exported, imported];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const mend = 'write "type": "module" into package.json (npm pkg set type=module)';
  expect(
    stdout
      .trim()
      .split("\n")
      .map((line) => line.includes(mend)),
  ).toEqual([true, true]);
});

test("a file that Node cannot load for what only bundlers do says what to write", async () => {
  const program = `import { importFile } from ${JSON.stringify(join(ROOT, "src/sdk/import-file.ts"))};
    for (const each of process.argv.slice(1)) console.log((await importFile(each)).why);`;
  const wrong: readonly (readonly [name: string, content: string, says: string])[] = [
    ["folder.mts", "export const at = __dirname;", "a module has import.meta.dirname instead"],
    ["text.mts", 'import words from "./words.md";', "such a file is no module: read it with readFileSync"],
    ["vite.mts", "export const mode = import.meta.env.MODE;", "only Vite has import.meta.env: write process.env.NAME"],
  ];
  await file("bundlers/package.json", '{ "type": "module" }');
  await file("bundlers/words.md", "# Words");
  const files = await Promise.all(wrong.map(([name, content]) => file(`bundlers/${name}`, content)));
  const args = ["--input-type=module", "-e", program, ...files];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const said = stdout.trim().split("\n");
  expect(said.map((line, at) => line.includes(wrong[at]?.[2] ?? "nothing"))).toEqual([true, true, true]);
});

describe("the config", () => {
  const configOf = async (name: string, content: string) => {
    await file(`${name}/cairn.config.ts`, content);
    return loadConfig(join(dir, name));
  };

  test.for(["ts", "mts", "cts", "js", "mjs", "cjs"])("may be cairn.config.%s", async (ending) => {
    const content = ending.startsWith("c")
      ? 'exports.config = { agents: ["./a.ts"] };'
      : 'export const config = { agents: ["./a.ts"] };';
    await file(`as-${ending}/package.json`, '{ "type": "module" }');
    await file(`as-${ending}/cairn.config.${ending}`, content);
    expect(await loadConfig(join(dir, `as-${ending}`))).toStrictEqual({ agents: [join(dir, `as-${ending}`, "a.ts")] });
  });

  test("is refused if there are two of them", async () => {
    await file("two/cairn.config.js", "export const config = { agents: [] };");
    await expect(configOf("two", "export const config = { agents: [] };")).rejects.toThrow(
      coded("ConfigInvalid", /there are two config files, .*cairn\.config\.ts and .*cairn\.config\.js: remove one/),
    );
  });

  test("is null for a directory without a config file", async () => {
    expect(await loadConfig(dir)).toBeNull();
  });

  test("has absolute paths", async () => {
    const content = `
      interface Config { readonly agents: readonly string[] }
      export const config = {
        agents: ["./a/agent.ts", "/b/agent.ts"], world: "local", store: ".cairn", beatSeconds: 2.5, workers: 4,
        beatsPerWorker: 8, concurrency: { clerk: 2 }, modelRates: { "a:b": { requestsPerMinute: 50 } },
        prices: { "our-own": { inUsd: 0.1, outUsd: 2, source: "contract 7", lookedAt: "2026-11-21" } },
      } satisfies Config & Record<string, unknown>;`;
    expect(await configOf("good", content)).toStrictEqual({
      agents: [join(dir, "good/a/agent.ts"), "/b/agent.ts"],
      world: "local",
      store: join(dir, "good/.cairn"),
      beatSeconds: 2.5,
      workers: 4,
      beatsPerWorker: 8,
      concurrency: { clerk: 2 },
      modelRates: { "a:b": { requestsPerMinute: 50 } },
      prices: { "our-own": { inUsd: 0.1, outUsd: 2, source: "contract 7", lookedAt: "2026-11-21" } },
    });
    expect(await configOf("small", "export const config = { agents: [] };")).toStrictEqual({ agents: [] });
  });

  test.each<[string, string, RegExp]>([
    ["nothing", "export const settings = {};", /cairn\.config\.ts exports no config: write export const config/],
    ["something else", "export const config = 7;", /cairn\.config\.ts:\n {2}config: it is 7: write an object/],
    [
      "a path that is none",
      'export const config = { agents: ["./a.ts", 7] };',
      /\n {2}config\.agents\[1\]: it is 7: write a text/,
    ],
    ["no agents", "export const config = {};", /\n {2}config\.agents: /],
    ["a word that it does not know", "export const config = { agents: [], agent: 1 };", /\n {2}config: .*"agent"/],
    [
      "a world without a name",
      "export const config = { agents: [], world: 7 };",
      /\n {2}config\.world: it is 7: write a text/,
    ],
    [
      "a beat too short",
      "export const config = { agents: [], beatSeconds: 0.1 };",
      /\n {2}config\.beatSeconds: .*0\.5/,
    ],
    ["half a price", priced("inUsd: 1"), /\.prices\.m\.outUsd: /],
    ["a price below nothing", priced("inUsd: -1, outUsd: 1"), /\n {2}config\.prices\.m\.inUsd: /],
    ["a price of no day", priced('inUsd: 1, outUsd: 1, lookedAt: "May"'), /\n {2}config\.prices\.m\.lookedAt: /],
    ["half a worker", "export const config = { agents: [], workers: 0.5 };", /\n {2}config\.workers: /],
    ["no room", "export const config = { agents: [], beatsPerWorker: 0 };", /\n {2}config\.beatsPerWorker: /],
    ["no place", "export const config = { agents: [], concurrency: { a: 0 } };", /\n {2}config\.concurrency\.a: /],
    [
      "a tenant that no run can have",
      'export const config = { agents: [], tenants: { "Acme Corp": { weight: 2 } } };',
      /\n {2}config\.tenants\.Acme Corp: .*a tenant: 1 to 24 lower-case letters and digits/,
    ],
    ["an error", 'throw new Error("no disk");', /cairn\.config\.ts cannot be loaded: no disk/],
  ])("is refused when it contains %s", async (name, content, message) => {
    await expect(configOf(name, content)).rejects.toThrow(coded("ConfigInvalid", message));
  });

  test("of this repository is valid", async () => {
    const travel = join(ROOT, "agents/travel/agent.ts");
    expect(await loadConfig(ROOT)).toMatchObject({ agents: expect.arrayContaining([travel]) as string[] });
  });
});

/** An agent file without imports: the loader recognizes an agent by its shape. */
const agentSource = (name: string): string =>
  `{ name: "${name}", version: "1", model: "m", instructions: "", task: {}, tools: {}, done: [], result: null,
     topology: { kind: "react", maxBeats: 1 }, budget: { microUsd: null }, price: {} }`;

describe("an agent file", () => {
  test("gives each exported agent once", async () => {
    const path = await file(
      "two.mjs",
      `export const one = ${agentSource("one")};
       export const again = one;
       export const options = { ...one, budget: { usd: 1 } };
       export const other = ${agentSource("other")}, nothing = null, words = "agent";`,
    );
    const agents = await loadAgentFile(path);
    expect(agents.map(({ name }) => name).toSorted()).toStrictEqual(["one", "other"]);
  });

  test("it may export them in a list or in an object", async () => {
    const path = await file(
      "lists.ts",
      `const [one, two, three] = [${agentSource("one")}, ${agentSource("two")}, ${agentSource("three")}];
       export const agents = [one, two], byName = { one, three };
       export default byName;`,
    );
    const agents = await loadAgentFile(path);
    expect(agents.map(({ name }) => name).toSorted()).toStrictEqual(["one", "three", "two"]);
  });

  test.each<[string, string | null, RegExp]>([
    ["missing.ts", null, /there is no agent file \/.*\/missing\.ts: check the path/],
    [
      "empty.ts",
      "export const travel = { name: 'travel' };",
      /empty\.ts exports no agent: write export const NAME = defineAgent/,
    ],
    [
      "sdk.ts",
      'export const travel = { version: "agent-v1", tools: {} };',
      /sdk\.ts exports no agent: it exports one of the AI SDK, so write export const NAME = fromToolLoopAgent\(agent/,
    ],
    ["throws.ts", 'throw new Error("no AIRLINE_TOKEN");', /throws\.ts cannot be loaded: no AIRLINE_TOKEN/],
    ["lost.mjs", 'import "./nowhere.mjs";', /lost\.mjs cannot be loaded: .*nowhere\.mjs/],
  ])("%s is refused", async (name, content, message) => {
    const path = content === null ? join(dir, name) : await file(name, content);
    await expect(loadAgentFile(path)).rejects.toThrow(coded("AgentInvalid", message));
  });
});

describe("a file outside of the repository", () => {
  const source = (name: string): string => `
    import { defineAgent, scriptedModel, tool } from "cairn-run";
    import { z } from "zod";
    import { toJSONSchema } from "zod/v4";
    import { APICallError } from "@ai-sdk/provider";
    export const agent = defineAgent({
      name: "${name}",
      version: "1",
      model: scriptedModel({ name: "script", reply: () => { throw new APICallError({}); } }),
      instructions: typeof toJSONSchema,
      task: z.object({ to: z.string() }),
      tools: { echo: tool({ input: z.object({}), effect: "none", run: () => null }) },
    });`;

  /** The output of a process that loads and checks these files, with Node's own resolver instead of vitest's. */
  async function load(paths: readonly string[], options: { registered: boolean } = { registered: true }) {
    const program = `
      import { checkAgent } from "${ROOT}/src/sdk/check.ts";
      import { loadAgentFile } from "${ROOT}/src/sdk/load.ts";
      import { registerResolution } from "${ROOT}/src/sdk/resolution.ts";
      import { limitsFor } from "${ROOT}/src/protocol/limits.ts";
      if (${options.registered}) { registerResolution(); registerResolution(); }
      try {
        const agents = [];
        for (const path of ${JSON.stringify(paths)}) agents.push(...(await loadAgentFile(path)));
        for (const agent of agents) checkAgent(agent, limitsFor(30_000));
        console.log(agents.map(({ name, instructions }) => name + " " + instructions).join());
      } catch (error) {
        console.log(error.code + ": " + error.message);
      }`;
    const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", program];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: dir });
    expect(stderr).toBe("");
    return stdout.trim();
  }

  test("finds cairn and zod, in TypeScript and in JavaScript", async () => {
    const paths = await Promise.all(
      ["ts", "js", "mjs"].map((ending) => file(`out/${ending}.${ending}`, source(ending))),
    );
    expect(await load(paths)).toBe("ts function,js function,mjs function");
  });

  test("finds them with require, too", async () => {
    const content = source("common").replaceAll(/import (.*) from (".*");/g, "const $1 = require($2);");
    const path = await file("out/common.js", content.replace("export const agent", "exports.agent"));
    expect(await load([path])).toBe("common function");
  });

  test("finds nothing when the resolution is not registered", async () => {
    const path = await file("out/alone.ts", source("alone"));
    expect(await load([path], { registered: false })).toMatch(/^AgentInvalid: .*Cannot find package 'cairn-run'/);
  });

  test("is reported with the line of its error", async () => {
    const typo = await file("out/typo.ts", "const fine = 1;\nconst wrong: = 2;");
    expect(await load([typo])).toMatch(/^AgentInvalid: agent file .*typo\.ts cannot be loaded: .*\(.*typo\.ts:2\)$/);
    const unnamed = await file(
      "out/unnamed.ts",
      'import { defineAgent } from "cairn-run";\ndefineAgent({ name: "a b", tools: {} });',
    );
    expect(await load([unnamed])).toMatch(/an agent's name is .*"a b" \(.*unnamed\.ts:2:1\)$/);
  });

  test("in the root of a project is reported with its own line, not with that of cairn in node_modules", async () => {
    await file("rooted/package.json", '{ "type": "module" }');
    await file(
      "rooted/node_modules/cairn-run/package.json",
      '{ "name": "cairn-run", "type": "module", "exports": "./dist/index.js" }',
    );
    await file(
      "rooted/node_modules/cairn-run/dist/index.js",
      'export const fail = () => { throw new Error("wrong"); };',
    );
    const shared = await file(
      "rooted/lib/shared.ts",
      'import { fail } from "cairn-run";\n\nexport const run = () => fail();',
    );
    const root = await file("rooted/agent.ts", 'import { fail } from "cairn-run";\nenum A {}\n\n\nfail();');
    const below = await file("rooted/agents/a b.ts", 'import { run } from "../lib/shared";\nrun();');
    expect(await load([root])).toBe(`AgentInvalid: agent file ${root} cannot be loaded: wrong (${root}:5:1)`);
    expect(await load([below])).toBe(`AgentInvalid: agent file ${below} cannot be loaded: wrong (${shared}:3:26)`);
  });

  test("prefers its own packages, and fails for a package that neither has", async () => {
    await file("own/node_modules/zod/package.json", '{ "name": "zod", "exports": "./own.mjs" }');
    await file("own/node_modules/zod/own.mjs", 'throw new Error("its own zod");');
    const own = await file("own/agent.mjs", 'import "zod";');
    const missing = await file("own/missing.mjs", 'import "left-pad";');
    expect(await load([own])).toMatch(/^AgentInvalid: .*: its own zod \(.*own\.mjs:1:7\)$/);
    expect(await load([missing])).toMatch(/^AgentInvalid: .*Cannot find package 'left-pad'/);
  });
});
