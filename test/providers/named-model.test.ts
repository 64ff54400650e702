/** Models that are given as text: their names, keys, packages, and what is missing before a request can be sent. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createOpenAI } from "@ai-sdk/openai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { text } from "../../src/core/message.ts";
import type { ModelOptions } from "../../src/ports/model-options.ts";
import { PROVIDERS, namedModel } from "../../src/ports/named-models.ts";
import { secretNamesOf } from "../../src/ports/secrets.ts";
import { modelOf } from "../../src/providers/model.ts";
import { bedrock } from "../support/providers/bedrock.ts";
import { openai } from "../support/providers/openai.ts";
import { startProvider } from "../support/providers/provider-server.ts";

const ROOT = join(import.meta.dirname, "..", "..");

const request = (options: ModelOptions = {}) => ({
  ...{ instructions: "", tools: {}, options, signal: new AbortController().signal },
  messages: [{ id: "m1", at: 1, source: "task", role: "user", parts: [text("Hi")], tokens: 0 }] as const,
});

afterEach(() => vi.unstubAllEnvs());

/** A developer's environment may have AWS credentials. */
function withAws(variables: Readonly<Record<string, string>>): void {
  for (const name of ["REGION", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "BEARER_TOKEN_BEDROCK"])
    vi.stubEnv(`AWS_${name}`, variables[name]);
}

test.each([
  ["anthropic:claude-opus-4-5", "anthropic", "claude-opus-4-5", "ANTHROPIC_API_KEY"],
  ["openai:ft:gpt-4o:acme::7p4", "openai", "ft:gpt-4o:acme::7p4", "OPENAI_API_KEY"],
  ["google:gemini-2.5-pro", "google", "gemini-2.5-pro", "GOOGLE_GENERATIVE_AI_API_KEY"],
  ["bedrock:amazon.nova-pro-v1:0", "bedrock", "amazon.nova-pro-v1:0", "AWS_BEARER_TOKEN_BEDROCK"],
])("%s names its provider, model and key", (choice, provider, modelId, secret) => {
  expect(namedModel(choice)).toMatchObject({ provider, modelId, secret, name: choice, baseURL: null });
  expect(modelOf(choice).name).toBe(choice);
});

test("a run may learn the keys of all models that its agent gives as text, and no others", () => {
  const fallbacks = [{ model: "bedrock:m" }, { model: createOpenAI({ apiKey: "k" })("m") }, { model: "unknown:m" }];
  const models = { judge: { model: "openai-compatible:http://host/v1#m" }, boss: { model: "anthropic:other" } };
  const agent = { model: "anthropic:m", fallbacks, models, secrets: ["TOKEN", "ANTHROPIC_API_KEY"] };
  expect(secretNamesOf(agent).toSorted()).toEqual([
    ...["ANTHROPIC_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "OPENAI_COMPATIBLE_API_KEY", "TOKEN"],
  ]);
  expect(secretNamesOf({ model: createOpenAI({ apiKey: "k" })("m") })).toEqual([]);
});

describe("before a request", () => {
  const named = Object.entries(PROVIDERS).filter(([, { package: of }]) => of !== null);

  test.each(named.filter(([, { needsKey }]) => needsKey))(
    "%s says which key it needs",
    async (provider, { secret }) => {
      // The environment is for the world's secrets to read, which a run may not have.
      vi.stubEnv(secret, "a-key-that-no-secret-has");
      const outcome = await modelOf(`${provider}:m`).ask(request());
      expect(outcome).toMatchObject({ kind: "failed", retryable: true, failure: { code: "ModelNotConfigured" } });
      expect(outcome).toMatchObject({
        failure: { message: expect.stringContaining(`the secret ${secret}`) as string },
      });
    },
  );

  test.each(["key\n", "k\u00e9y", "two keys", "\u201ckey\u201d"])(
    "says of the key %j which character it cannot have",
    async (key) => {
      const outcome = await modelOf("openai:m", async () => key).ask(request());
      expect(outcome).toMatchObject({ kind: "failed", failure: { code: "ModelNotConfigured" } });
      const at = key.search(/[^a-z]/) + 1;
      const says = `cannot use the value of OPENAI_API_KEY: its character ${at} of ${key.length} can be in no key`;
      expect(outcome).toMatchObject({ failure: { message: expect.stringContaining(says) as string } });
      expect(JSON.stringify(outcome)).not.toContain(key);
    },
  );

  test.each(named)("%s says which package to install when its own is missing", (provider, { package: needed }) => {
    const code = `
      import { registerHooks } from "node:module";
      const nowhere = { parentURL: "file:///nowhere/" };
      registerHooks({ resolve: (specifier, context, next) =>
        specifier === ${JSON.stringify(needed)} ? next(specifier, { ...context, ...nowhere }) : next(specifier, context) });
      const { modelOf } = await import(${JSON.stringify(pathToFileURL(join(ROOT, "src/providers/model.ts")).href)});
      const request = { instructions: "", messages: [], tools: {}, signal: new AbortController().signal };
      console.log(JSON.stringify(await modelOf("${provider}:m", async () => "key").ask(request)));`;
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" });
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ kind: "failed", retryable: true },
      failure: {
        code: "PackageMissing",
        message: expect.stringContaining(`not installed; type: npm install ${needed}`) as string,
      },
    });
  });

  test.each([
    ["no region", {}, /AWS_REGION/],
    ["no credentials", { REGION: "eu-central-1" }, /AWS_ACCESS_KEY_ID/],
  ])("bedrock with %s waits for them", async (_, variables, says) => {
    withAws(variables);
    const outcome = await modelOf(bedrock.model).ask(request());
    expect(outcome).toMatchObject({ kind: "failed", retryable: true, failure: { code: "ModelNotConfigured" } });
    expect(outcome).toMatchObject({ failure: { message: expect.stringMatching(says) as string } });
  });
});

test("bedrock without a key signs with the AWS credentials of the process", async () => {
  withAws({
    REGION: "eu-central-1",
    ACCESS_KEY_ID: "AKIDEXAMPLE",
    SECRET_ACCESS_KEY: "secret",
    SESSION_TOKEN: "session",
  });
  await using server = await startProvider(bedrock, { kind: "says", said: { text: ["Hello"] } });
  expect(await modelOf(bedrock.model).ask(request())).toMatchObject({ kind: "reply" });
  const { headers, path } = server.sent[0] ?? {};
  expect(path).toBe("/model/us.anthropic.claude-opus-4-5-20251101-v1%3A0/converse");
  expect(headers?.["authorization"]).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/eu-central-1\/bedrock\//);
  expect(headers?.["x-amz-security-token"]).toBe("session");
});

describe("OpenAI keeps no reply for a later request", () => {
  const models = { text: openai.model, object: createOpenAI({ apiKey: "k" })("gpt-5") };

  test.each(Object.entries(models))("of a model that is given as %s, unless its options say so", async (_, model) => {
    await using server = await startProvider(openai, { kind: "says", said: { text: ["Hello"] } });
    const asked = modelOf(model, async () => "key");
    await asked.ask(request({ providerOptions: { openai: { user: "u-1" } } }));
    await asked.ask(request({ providerOptions: { openai: { store: true } } }));
    expect(server.sent.map(({ body }) => ({ store: body["store"], user: body["user"] }))).toEqual([
      { store: false, user: "u-1" },
      { store: true, user: undefined },
    ]);
  });
});
