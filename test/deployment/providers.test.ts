/** The packages of model providers in the functions: those that the project has, loaded with the first request. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Bundle, bundleFunctions } from "../../infra/bundle.ts";
import { providerPackages, requirePackages } from "../../infra/provider-packages.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { PROVIDER_PACKAGES } from "../../src/ports/named-models.ts";
import { anthropic } from "../support/providers/anthropic.ts";
import { bedrock } from "../support/providers/bedrock.ts";
import { google } from "../support/providers/google.ts";
import { openai } from "../support/providers/openai.ts";
import { startProvider } from "../support/providers/provider-server.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const folder = mkdtempSync(join(tmpdir(), "cairn-providers-"));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (path: string, text: string): string => {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
};

/** A function that asks the model that it is told, at the server that it is told. */
const ASKER = `
  import { modelOf } from ${JSON.stringify(join(ROOT, "src/providers/model.ts"))};
  export const handler = async ({ model, url, streams }) => {
    const real = fetch;
    globalThis.fetch = (to, init) => real(url + new URL(to).pathname + new URL(to).search, init);
    const signal = new AbortController().signal;
    const onPiece = streams ? { onPiece: () => undefined } : {};
    return modelOf(model, async () => "key").ask({ instructions: "", messages: [], tools: {}, signal, ...onPiece });
  };`;

describe("a deployed function", () => {
  let beat: Bundle;

  beforeAll(async () => {
    const asker = write("asker.ts", ASKER);
    const only = { functions: ["beat"], agentFiles: [], instead: { beat: asker } } as const;
    [beat] = (await bundleFunctions({ folder: join(folder, "functions"), ...only })) as readonly [Bundle];
  });

  test.each([anthropic, openai, google, bedrock])("reaches $model with nothing beside it", async (wire) => {
    await using server = await startProvider(wire, { kind: "says", said: { text: ["Hello"] } });
    for (const streams of [false, true]) {
      const event = JSON.stringify({ model: wire.model, url: server.url, streams });
      const code = `
        const { handler } = await import(${JSON.stringify(pathToFileURL(join(beat.folder, "index.mjs")).href)});
        console.log(JSON.stringify(await handler(${event})));`;
      const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], {
        cwd: folder,
        env: { AWS_REGION: "eu-central-1" },
      });
      expect(JSON.parse(stdout)).toMatchObject({ kind: "reply", parts: [{ text: "Hello" }], ...wire.counts });
    }
    expect(server.sent.map(({ path, body }) => wire.isStream(path, body))).toEqual([false, true]);
  });

  test("loads no provider before a model is called", () => {
    const providersIn = (sources: readonly string[]) =>
      PROVIDER_PACKAGES.filter((name) => sources.some((source) => source.includes(`node_modules/${name}/`)));
    expect(providersIn(beat.sources)).toEqual(PROVIDER_PACKAGES);
    expect(providersIn(beat.startSources)).toEqual([]);
  });
});

describe("a project", () => {
  async function bundled(root: string): Promise<string> {
    const entry = join(dirname(root), "entry.ts");
    writeFileSync(entry, 'console.log((await import("@ai-sdk/anthropic")).which);');
    const { outputFiles } = await build({
      ...{ entryPoints: [entry], bundle: true, write: false, format: "esm", platform: "node", logLevel: "error" },
      plugins: [providerPackages(root)],
    });
    return outputFiles[0]?.text ?? "";
  }

  const installed = (root: string, which: string): void => {
    const manifest = { name: "@ai-sdk/anthropic", type: "module", exports: "./index.js" };
    write(`${root}/node_modules/@ai-sdk/anthropic/package.json`, JSON.stringify(manifest));
    write(`${root}/node_modules/@ai-sdk/anthropic/index.js`, `export const which = ${JSON.stringify(which)};`);
  };

  test("gives a function its own version of a provider, before one that lies beside cairn", async () => {
    installed("both/project", "that of the project");
    installed("both", "that beside cairn");
    expect(await bundled(join(folder, "both", "project"))).toContain("that of the project");
    installed("one", "that beside cairn");
    mkdirSync(join(folder, "one", "project"));
    expect(await bundled(join(folder, "one", "project"))).toContain("that beside cairn");
  });

  test("without a provider has an import of it in its function, which fails when it is loaded", async () => {
    mkdirSync(join(folder, "none", "project"), { recursive: true });
    const file = write("none/out.mjs", await bundled(join(folder, "none", "project")));
    expect(readFileSync(file, "utf8")).toContain('import("@ai-sdk/anthropic")');
    await expect(promisify(execFile)(process.execPath, [file])).rejects.toThrow(
      expect.objectContaining({
        stderr: expect.stringContaining("Cannot find package '@ai-sdk/anthropic'") as string,
      }) as Error,
    );
  });

  test("is not deployed with an agent whose provider it does not have", () => {
    const agent = { name: "clerk", model: "openai-compatible:http://host/v1#m", fallbacks: [] } as unknown as Agent;
    const named = { ...agent, fallbacks: [{ model: "google:gemini-2.5-pro" }] } as unknown as Agent;
    const nowhere = { roots: [join(folder, "none", "project")], file: "clerk.ts" };
    expect(() => requirePackages(agent, nowhere)).not.toThrow();
    expect(() => requirePackages(named, { ...nowhere, roots: [...nowhere.roots, ROOT] })).not.toThrow();
    expect(() => requirePackages(named, nowhere)).toThrow(
      expect.objectContaining({
        code: "PackageMissing",
        next: "npm install @ai-sdk/google",
        message: expect.stringMatching(/^agent clerk of clerk\.ts: .*type: npm install @ai-sdk\/google$/) as string,
      }) as Error,
    );
  });
});
