/** A model of the AI Gateway needs a key, and nothing in the file of an AI SDK agent says so. */
import { expect, test } from "vitest";
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
