/**
 * Loads the provider of a model that an agent gives as text. The packages of most providers are optional peers, so a
 * project installs only those that it uses. Each is loaded with the first request: a worker should start quickly.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import {
  ModelNotReady,
  type NamedModel,
  type ProviderName,
  namedModelsOf,
  packageMissing,
} from "../ports/named-models.ts";

/** `key`: empty if its secret has no value. Rejects with `ModelNotReady` if its package or its key is missing. */
export async function openModel(model: NamedModel, key: string): Promise<LanguageModelV4> {
  return (await openWire(model, key))();
}

/** The same over a `fetch` that is given later. */
export async function openWire(
  model: NamedModel,
  key: string,
): Promise<(fetch?: typeof globalThis.fetch) => LanguageModelV4> {
  const provide = await load(model);
  if (key === "" && model.needsKey) throw keyMissing(model);
  if (!/^[\x21-\x7e]*$/.test(key)) throw keyUnusable(model, key);
  return (fetch) => provide(model, { ...(key === "" ? {} : { apiKey: key }), ...(fetch && { fetch }) });
}

/** Throws `ModelNotReady` if this process finds no package of a provider that the agent names. */
export async function requireProviders(agent: Parameters<typeof namedModelsOf>[0]): Promise<void> {
  await Promise.all(namedModelsOf(agent).map(load));
}

type Provide = (
  model: NamedModel,
  by: { readonly apiKey?: string; readonly fetch?: typeof globalThis.fetch },
) => LanguageModelV4;

const loadAnthropic = async (): Promise<Provide> => {
  const { createAnthropic } = await import("@ai-sdk/anthropic");
  return ({ modelId }, by) => createAnthropic(by)(modelId);
};

const loadOpenai = async (): Promise<Provide> => {
  const { createOpenAI } = await import("@ai-sdk/openai");
  return ({ modelId }, by) => createOpenAI(by)(modelId);
};

/** The name of each package stands in its import, because a bundler must see it. */
const LOAD: { readonly [P in ProviderName]: () => Promise<Provide> } = {
  anthropic: loadAnthropic,
  "anthropic-batch": loadAnthropic,
  openai: loadOpenai,
  "openai-background": loadOpenai,
  "openai-batch": loadOpenai,
  google: async () => {
    const { createGoogle } = await import("@ai-sdk/google");
    return ({ modelId }, key) => createGoogle(key)(modelId);
  },
  gateway: async () => {
    const { createGateway } = await import("@ai-sdk/gateway");
    return ({ modelId }, by) => createGateway(by)(modelId);
  },
  bedrock: async () => {
    const { createAmazonBedrock } = await import("@ai-sdk/amazon-bedrock");
    return ({ modelId }, key) => createAmazonBedrock(key)(modelId);
  },
  "openai-compatible": async () => {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    // Without `includeUsage` a stream reports no tokens, and its reply would cost nothing.
    const settings = { name: "openai-compatible", includeUsage: true };
    return ({ modelId, baseURL }, key) =>
      createOpenAICompatible({ ...settings, baseURL: baseURL ?? "", ...key }).chatModel(modelId);
  },
};

async function load(model: NamedModel): Promise<Provide> {
  try {
    return await LOAD[model.provider]();
  } catch (cause) {
    const isMissing = cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND";
    if (!isMissing || !cause.message.includes(`'${model.package}'`)) throw cause;
    throw packageMissing(model, cause);
  }
}

/** HTTP takes no other characters in a header, and its error would show the key. */
function keyUnusable({ name, secret }: NamedModel, key: string): ModelNotReady {
  const at = key.search(/[^\x21-\x7e]/) + 1;
  const next = `set ${secret} again, without spaces, line breaks or letters beyond ASCII`;
  const message = `the model ${name} cannot use the value of ${secret}: its character ${at} of ${key.length} can be in no key; ${next}`;
  return new ModelNotReady(message, { code: "ModelNotConfigured", next });
}

function keyMissing({ name, secret }: NamedModel): ModelNotReady {
  const next = `set ${secret} in the environment or in .env, on AWS in the Parameter Store`;
  const message = `the model ${name} needs the secret ${secret}, which has no value; ${next} (docs/secrets.md)`;
  return new ModelNotReady(message, { code: "ModelNotConfigured", next });
}
