/** A model of the AI Gateway needs a key, and nothing in the file of an AI SDK agent says so. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { expect, onTestFinished, test, vi } from "vitest";
import { catalogueOf } from "../../src/compose/catalogue.ts";
import { createServer } from "../../src/embed/server.ts";
import { driveStore } from "../../src/embed/worker.ts";
import { fromToolLoopAgent } from "../../src/index.ts";
import { temporaryDir } from "../process/fixtures/store.ts";
import { requireGatewayKey } from "../../src/compose/check-here.ts";
import type { SecretLook } from "../../src/ports/secrets.ts";

const asked: string[] = [];
const where = "the environment or .env";
const worldWith = (look: SecretLook) => ({
  world: {
    findSecret: async (name: string) => {
      asked.push(name);
      return look;
    },
  },
});
const absent = worldWith({ kind: "absent", where, mend: "set AI_GATEWAY_API_KEY in .env" });

test("refuses a model of the gateway without a key, and says what to type", async () => {
  const agent = { model: "gateway:anthropic/claude-haiku-4-5" };
  await expect(requireGatewayKey(agent, absent)).rejects.toThrow(
    "the AI SDK sends the model anthropic/claude-haiku-4-5 to the AI Gateway, and AI_GATEWAY_API_KEY is not in " +
      "the environment or .env; set AI_GATEWAY_API_KEY in .env, or give the agent a model object",
  );
  await expect(requireGatewayKey(agent, absent)).rejects.toMatchObject({ code: "ModelNotConfigured" });
  await expect(requireGatewayKey(agent, worldWith({ kind: "found", value: "key-key" }))).resolves.toBeUndefined();
});

test("asks for no key where no model is of the gateway", async () => {
  asked.length = 0;
  await requireGatewayKey({ model: "anthropic:claude-haiku-4-5", models: { a: { model: "openai:m" } } }, absent);
  expect(asked).toEqual([]);
});

const ofTheSdk = { version: "agent-v1", tools: {}, settings: { model: "anthropic/claude-haiku-4-5" } };
const guide = fromToolLoopAgent(ofTheSdk, { name: "guide", version: "1", task: z.object({}) });

test("such an agent is refused when it is loaded from its file or given as an object, and works once there is a key", async () => {
  const dir = temporaryDir();
  writeFileSync(join(dir, "guide.ts"), GUIDE);
  const files = { agentFiles: [join(dir, "guide.ts")], exampleFiles: [] };
  const { agents, broken } = await catalogueOf({ ...files, ...absent } as never);
  expect(agents).toEqual([]);
  expect(broken.join("\n")).toMatch(
    /^agent guide: .*AI_GATEWAY_API_KEY is not in .*; set AI_GATEWAY_API_KEY in .env, or .*guide\.ts\)$/,
  );
  const found = await catalogueOf({ ...files, ...worldWith({ kind: "found", value: "key-key" }) } as never);
  expect(found).toMatchObject({ agents: [{ name: "guide" }], broken: [] });
  const given = { agents: [guide], store: join(dir, "store"), cwd: dir };
  const auth = () => null;
  vi.stubEnv("AI_GATEWAY_API_KEY", "");
  onTestFinished(() => void vi.unstubAllEnvs());
  await expect(createServer({ ...given, auth })).rejects.toMatchObject({ code: "ModelNotConfigured" });
  await expect(driveStore({ ...given, entry: import.meta.url })).rejects.toThrow(/agent guide|AI_GATEWAY_API_KEY/);
  vi.stubEnv("AI_GATEWAY_API_KEY", "key-key");
  await (await createServer({ ...given, auth })).close();
});

const GUIDE = `
import { fromToolLoopAgent } from ${JSON.stringify(join(import.meta.dirname, "../../src/index.ts"))};
import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
const agent = { ...{ version: "agent-v1" }, tools: {}, settings: { model: "anthropic/claude-haiku-4-5" } };
export const guide = fromToolLoopAgent(agent, { name: "guide", version: "1", task: z.object({}) });
`;
