/** The models that an agent gives as text, such as `anthropic:claude-opus-4-5`, and what each needs to be called. */
import type { ModelChoice } from "./agent.ts";
import { AgentInvalid } from "./agent-invalid.ts";

interface Provider {
  /** The package that speaks to it: an optional peer. Null: cairn brings it along. */
  readonly package: string | null;
  /** The secret with its API key: the variable that its own package reads. */
  readonly secret: string;
  readonly needsKey: boolean;
}

export const PROVIDERS = {
  anthropic: { package: "@ai-sdk/anthropic", secret: "ANTHROPIC_API_KEY", needsKey: true },
  "anthropic-batch": { package: "@ai-sdk/anthropic", secret: "ANTHROPIC_API_KEY", needsKey: true },
  openai: { package: "@ai-sdk/openai", secret: "OPENAI_API_KEY", needsKey: true },
  "openai-background": { package: "@ai-sdk/openai", secret: "OPENAI_API_KEY", needsKey: true },
  "openai-batch": { package: "@ai-sdk/openai", secret: "OPENAI_API_KEY", needsKey: true },
  google: { package: "@ai-sdk/google", secret: "GOOGLE_GENERATIVE_AI_API_KEY", needsKey: true },
  // Texts of the AI SDK such as `anthropic/claude-opus-4-5`.
  gateway: { package: "@ai-sdk/gateway", secret: "AI_GATEWAY_API_KEY", needsKey: true },
  // Without a key its package signs with the AWS credentials of the process, such as the role of a function.
  bedrock: { package: "@ai-sdk/amazon-bedrock", secret: "AWS_BEARER_TOKEN_BEDROCK", needsKey: false },
  // Many servers of one's own need no key.
  "openai-compatible": { package: null, secret: "OPENAI_COMPATIBLE_API_KEY", needsKey: false },
} as const satisfies Readonly<Record<string, Provider>>;

export type ProviderName = keyof typeof PROVIDERS;

/** The optional packages of all providers. */
export const PROVIDER_PACKAGES: readonly string[] = [
  ...new Set(Object.values(PROVIDERS).flatMap((each) => each.package ?? [])),
];

export interface NamedModel extends Provider {
  readonly provider: ProviderName;
  readonly modelId: string;
  /** The address of an OpenAI-compatible server; null: the provider's own. */
  readonly baseURL: string | null;
  /** `provider:model`, for the transcript and the accounts. */
  readonly name: string;
}

/** The provider and the model that a text names. Throws `AgentInvalid` if it names none. */
export function namedModel(choice: string): NamedModel {
  const { provider = "", modelId = "" } = NAMED.exec(choice)?.groups ?? {};
  if (!isHosted(provider)) return compatibleModel(choice);
  return { provider, modelId, baseURL: null, name: choice, ...PROVIDERS[provider] };
}

const NAMED = /^(?<provider>[a-z-]+):(?<modelId>[^\s#]+)$/;

const isHosted = (provider: string): provider is Exclude<ProviderName, "openai-compatible"> =>
  Object.hasOwn(PROVIDERS, provider) && provider !== "openai-compatible";

const OPENAI_COMPATIBLE = /^openai-compatible:(?<address>[^#\s]+)#(?<modelId>\S+)$/;

function compatibleModel(choice: string): NamedModel {
  const { address = "", modelId = "" } = OPENAI_COMPATIBLE.exec(choice)?.groups ?? {};
  const provider = "openai-compatible";
  const url = URL.parse(address);
  if (url !== null && `${url.username}${url.password}` !== "") {
    throw new AgentInvalid(
      `the model at ${url.host} has a credential in its URL, which every run would store: ` +
        `take it out and set ${PROVIDERS[provider].secret} instead`,
    );
  }
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== "") {
    const hosted = Object.keys(PROVIDERS).filter(isHosted);
    throw new AgentInvalid(
      `the model ${JSON.stringify(choice)} is not understood${meantBy(choice)} As a string cairn understands ` +
        `${hosted.join(":MODEL, ")}:MODEL and openai-compatible:http://HOST[:PORT]/v1#MODEL; for any other ` +
        'provider pass its AI SDK model object, for example mistral("mistral-large-latest") of @ai-sdk/mistral',
    );
  }
  return { provider, modelId, baseURL: url.href, name: `${provider}:${modelId}`, ...PROVIDERS[provider] };
}

/** Texts of the AI SDK name the provider before a slash. */
function meantBy(choice: string): string {
  const [, provider = "", modelId = ""] = /^([a-z][a-z-]*)\/([^\s/#]+)$/.exec(choice) ?? [];
  if (modelId === "") return ".";
  const own = isHosted(provider) ? `"${provider}:${modelId}", or ` : "";
  return `: did you mean ${own}"gateway:${choice}", which the AI Gateway calls?`;
}

interface Choosing {
  readonly model: unknown;
  readonly fallbacks?: readonly { readonly model: unknown }[];
  readonly models?: Readonly<Record<string, { readonly model: unknown }>>;
}

/**
 * The models that an agent gives as text: its own, its fallbacks, and those of its roles. One that is not understood is
 * left out: what checks the agent refuses it.
 */
export const namedModelsOf = (agent: Choosing): readonly NamedModel[] =>
  [agent, ...(agent.fallbacks ?? []), ...Object.values(agent.models ?? {})].flatMap(({ model }) => {
    if (typeof model !== "string") return [];
    try {
      return [namedModel(model)];
    } catch (error) {
      if (!(error instanceof AgentInvalid)) throw error;
      return [];
    }
  });

/** A model cannot be called here yet. No request was sent. It can be called once an operator has typed `next`. */
export class ModelNotReady extends Error {
  override readonly name = "ModelNotReady";
  readonly code: "PackageMissing" | "ModelNotConfigured";
  readonly next: string;

  constructor(message: string, { code, next, cause }: Pick<ModelNotReady, "code" | "next" | "cause">) {
    super(message, { cause });
    this.code = code;
    this.next = next;
  }
}

/** Says which package a model needs, and what to type. */
export function packageMissing({ name, package: missing }: NamedModel, cause?: unknown): ModelNotReady {
  const next = `npm install ${missing}`;
  const message = `the model ${name} needs the package ${missing}, which is not installed; type: ${next}`;
  return new ModelNotReady(message, { code: "PackageMissing", next, cause });
}

/** The name of a model, such as `anthropic:claude-haiku-4-5`. */
export const modelName = (choice: ModelChoice): string =>
  typeof choice === "string" ? namedModel(choice).name : `${choice.provider.split(".")[0] ?? ""}:${choice.modelId}`;
