/** An agent whose model is given as text, on the real command line: with its provider, and without. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { anthropic } from "../support/providers/anthropic.ts";
import { startProvider } from "../support/providers/provider-server.ts";
import {
  type CliFolder,
  LONG_TIMEOUTS,
  createCliFolder,
  runCairn,
  runCairnJson,
} from "../support/processes/cli-process.ts";

const AGENT = `
  import { defineAgent } from "cairn-run";
  import { z } from "zod";
  export const writer = defineAgent({
    name: "writer", version: "1", model: "anthropic:claude-opus-4-5", instructions: "", task: z.object({}), tools: {},
  });`;

/** Resolves Anthropic's package as in a project that has not installed it. */
const WITHOUT_PACKAGE = `
  import { registerHooks } from "node:module";
  const nowhere = { parentURL: "file:///nowhere/" };
  registerHooks({ resolve: (specifier, context, next) =>
    next(specifier, specifier === "@ai-sdk/anthropic" ? { ...context, ...nowhere } : context) });`;

const KEY = "key-of-a-test-that-is-long";

function folderOf(env: Readonly<Record<string, string>>): CliFolder {
  const folder = createCliFolder({ ...LONG_TIMEOUTS, ...env });
  writeFileSync(join(folder.dir, "writer.ts"), AGENT);
  writeFileSync(join(folder.dir, "cairn.config.ts"), 'export const config = { agents: ["./writer.ts"] };\n');
  return folder;
}

test("a run calls its provider with the key in .env, which no record shows", async () => {
  await using server = await startProvider(anthropic, { kind: "says", said: { text: [`I know ${KEY}.`] } });
  const folder = folderOf({ ANTHROPIC_BASE_URL: `${server.url}/v1`, ANTHROPIC_API_KEY: "" });
  writeFileSync(join(folder.dir, ".env"), `ANTHROPIC_API_KEY=${KEY}\n`);
  const { exit, out } = await runCairn(folder, ["start", "writer", "--wait"]);
  expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("I know [secret ANTHROPIC_API_KEY].") });
  expect(server.sent.map(({ headers }) => headers["x-api-key"])).toEqual([KEY]);
});

test("a provider that is not installed is said before a run starts, with what to type", async () => {
  const folder = folderOf({ ANTHROPIC_API_KEY: "" });
  const hooks = join(folder.dir, "hooks.mjs");
  writeFileSync(hooks, WITHOUT_PACKAGE);
  const without = { ...folder, env: { ...folder.env, NODE_OPTIONS: `--import ${pathToFileURL(hooks).href}` } };
  const { exit, out, err } = await runCairn(without, ["start", "writer"]);
  expect({ exit, out }).toEqual({ exit: 4, out: "" });
  expect(err).toContain(
    "error PackageMissing: the model anthropic:claude-opus-4-5 needs the package @ai-sdk/anthropic",
  );
  expect(err).toContain("next: npm install @ai-sdk/anthropic");
  const found = (await runCairnJson(without, ["doctor"]))["checks"] as { id: string; status: string; why?: string }[];
  expect(found.find(({ id }) => id === "agents")).toMatchObject({
    status: "fail",
    why: expect.stringContaining("type: npm install @ai-sdk/anthropic") as string,
  });
});

test("a key that is not set is said by the doctor", async () => {
  const found = (await runCairnJson(folderOf({ ANTHROPIC_API_KEY: "" }), ["doctor"]))["checks"] as object[];
  expect(found).toContainEqual(
    expect.objectContaining({
      id: "agents-secrets",
      status: "fail",
      why: expect.stringContaining("ANTHROPIC_API_KEY of writer") as string,
    }),
  );
});
