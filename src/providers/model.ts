/**
 * The adapter from AI SDK models to the `Model` port: one request, one outcome, never an exception. Every response and
 * error becomes a value, so that the recovery table decides what follows. This adapter never retries: a retry that is
 * not recorded costs money that no budget counts.
 */
import { type LanguageModelV4, type LanguageModelV4CallOptions, UnsupportedFunctionalityError } from "@ai-sdk/provider";
import type { Agent, ModelChoice } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { AsynchronousCalls, AsynchronousModel } from "../ports/asynchronous-model.ts";
import { filesOf } from "../core/files-in.ts";
import { failedBy } from "./model-failure.ts";
import { promptOf } from "../engine/model/prompt.ts";
import { replyOf } from "./reply.ts";
import { type ProviderReply, expectedBy } from "./reply-end.ts";
import { BrokenStream, readReply } from "./streamed-reply.ts";
import { type NamedModel, type ProviderName, modelName, namedModel } from "../ports/named-models.ts";
import { type OpenedCalls, callsOver } from "./detached-calls.ts";
import { openModel, openWire } from "./named-model.ts";
import type { OpenModel } from "./wire-request.ts";
import { describeTools } from "../engine/model/tool-schema.ts";
import type { ModelOptions } from "../ports/model-options.ts";
import type { ModelRates } from "../protocol/model-rate.ts";
import type { Model, ModelOutcome, ModelRequest, DetachedCalls } from "../ports/model.ts";

/** Reads the current value of a secret; null if it has none. */
type ReadSecret = (name: string) => Promise<string | null>;

/** Throws `AgentInvalid` for an invalid model. The API key of a model given as text is read before each request. */
export function modelOf(choice: ModelChoice, read: ReadSecret = async () => null): Model {
  if (typeof choice !== "string") {
    const model = speaking(choice);
    const detached = detachedIn(model);
    return { name: modelName(model), ask: (request) => ask(model, request, ""), ...(detached && { detached }) };
  }
  const named = namedModel(choice);
  const detached = namedDetached(named, read);
  return {
    name: named.name,
    ...(detached && { detached }),
    ask: async (request) => {
      try {
        const key = (await read(named.secret)) ?? "";
        return await ask(await openModel(named, key), request, key);
      } catch (error) {
        // No request was sent, and what prevented reading the key, or loading the provider, may be temporary.
        return { ...failedBy(error, ""), retryable: true };
      }
    },
  };
}

/** The models of an agent: its own, its fallbacks, and those of its topology's roles, with the rate limit of each. */
export function modelsOf(
  agent: Pick<Agent, "model" | "fallbacks" | "models">,
  read?: ReadSecret,
  rates: ModelRates = {},
): {
  readonly model: Model;
  readonly fallbacks: readonly Model[];
  readonly named: Readonly<Record<string, Model>>;
} {
  const limited = (choice: ModelChoice): Model => {
    const model = modelOf(choice, read);
    const rate = Object.hasOwn(rates, model.name) ? rates[model.name] : undefined;
    return rate === undefined ? model : { ...model, rate };
  };
  return {
    model: limited(agent.model),
    fallbacks: agent.fallbacks.map(({ model }) => limited(model)),
    named: Object.fromEntries(Object.entries(agent.models ?? {}).map(([name, { model }]) => [name, limited(model)])),
  };
}

/** The jobs of a model object that is asynchronous; null: it is not. */
function detachedIn(model: LanguageModelV4 & Partial<AsynchronousModel>): DetachedCalls | null {
  const { detached } = model;
  if (detached === undefined) return null;
  const { submit, poll, find, cancel } = detached;
  if (typeof submit !== "function" || typeof poll !== "function") {
    throw new AgentInvalid("the jobs of its model have no functions submit and poll (docs/models.md)");
  }
  const open = async (request: ModelRequest): Promise<OpenedCalls> => ({
    detached,
    options: optionsOf(model, request),
    secret: "",
  });
  return callsOver(open, { ...detached, finds: find !== undefined, cancels: cancel !== undefined });
}

/** The jobs of a model that is given as text; null: its provider works on no jobs. */
function namedDetached(named: NamedModel, read: ReadSecret): DetachedCalls | null {
  const load = DETACHED[named.provider];
  if (load === undefined) return null;
  const open = async (request: ModelRequest): Promise<OpenedCalls> => {
    const key = (await read(named.secret)) ?? "";
    const wire = await openWire(named, key);
    const { detachedOf } = await load();
    return { detached: detachedOf(wire), options: optionsOf(wire(), request), secret: key };
  };
  return callsOver(open, { finds: named.provider !== "openai-background", cancels: true });
}

/** Loaded with the first job, as the packages are. */
const DETACHED: {
  readonly [P in ProviderName]?: () => Promise<{ readonly detachedOf: (open: OpenModel) => AsynchronousCalls }>;
} = {
  "anthropic-batch": async () => ({ detachedOf: (await import("./anthropic-detached.ts")).anthropicBatch }),
  "openai-background": async () => ({ detachedOf: (await import("./openai-detached.ts")).openaiBackground }),
  "openai-batch": async () => ({ detachedOf: (await import("./openai-detached.ts")).openaiBatch }),
};

/** A choice of a tool that is not offered, or of any where none may be called, is left out: providers refuse it. */
function toolChoiceOf(
  choice: ModelOptions["toolChoice"],
  { tools, mayCall = true }: ModelRequest,
): Pick<LanguageModelV4CallOptions, "toolChoice"> {
  if (choice === undefined || !mayCall || Object.keys(tools).length === 0) return {};
  if (typeof choice !== "object") return { toolChoice: { type: choice } };
  return Object.hasOwn(tools, choice.toolName) ? { toolChoice: choice } : {};
}

/** The request as the AI SDK takes it. */
function optionsOf(model: LanguageModelV4, request: ModelRequest): LanguageModelV4CallOptions {
  const { instructions, messages, tools, format = null, files, signal } = request;
  const { toolChoice: _, ...settings } = settingsOf(model, request);
  return {
    ...settings,
    ...toolChoiceOf(request.options?.toolChoice, request),
    ...(format === null ? {} : { responseFormat: { type: "json" as const, ...format } }),
    prompt: promptOf(instructions, messages, files ?? new Map()),
    tools: describeTools(tools),
    abortSignal: signal,
  };
}

/** What a scripted model names as its provider. */
const SCRIPTED = "scripted";

async function ask(model: LanguageModelV4, request: ModelRequest, secret: string): Promise<ModelOutcome> {
  const { messages, mayCall = true, signal } = request;
  if (signal.aborted) return { kind: "aborted" };
  try {
    const asked = optionsOf(model, request);
    const expected = { ...expectedBy(asked), isScripted: model.provider === SCRIPTED };
    if (mayCall) return replyOf(await answerOf(model, asked, request), expected);
    if (!FORGETS_CALLS.has(model.provider))
      return replyOf(await answerOf(model, { ...asked, toolChoice: { type: "none" } }, request), expected);
    return replyOf(withoutCalls(await answerOf(model, asked, request)), expected);
  } catch (error) {
    if (signal.aborted) return { kind: "aborted" };
    const failed = failedBy(error, secret, filesOf(messages));
    if (!isBroken(error)) return failed;
    return { ...failed, retryable: true, ...(error.hasBegun ? { isPartial: true } : {}) };
  }
}

/**
 * Providers whose package has no word for "call no tool". It leaves the tools out, and then all calls and results of the
 * transcript, because their API refuses these without tools: a summary would be one of half a conversation. So the model
 * keeps its tools, and a call that it makes nevertheless is dropped.
 */
const FORGETS_CALLS: ReadonlySet<string> = new Set(["amazon-bedrock"]);

const withoutCalls = (answer: ProviderReply): ProviderReply => ({
  ...answer,
  content: answer.content.filter(({ type }) => type !== "tool-call"),
});

/** What a model throws may be an object that throws at every question. */
function isBroken(error: unknown): error is BrokenStream {
  try {
    return error instanceof BrokenStream;
  } catch {
    return false;
  }
}

/** Streams only for a reader, so that a call without one is the same as ever. A model may be unable to stream. */
async function answerOf(
  model: LanguageModelV4,
  asked: Parameters<LanguageModelV4["doGenerate"]>[0],
  { onPiece }: Pick<ModelRequest, "onPiece">,
): Promise<ProviderReply> {
  if (onPiece === undefined || typeof model.doStream !== "function") return model.doGenerate(asked);
  try {
    // Only the events of the Responses API say that a reply is incomplete where they give no reason.
    const includeRawChunks = model.provider.endsWith(".responses");
    const { stream, request } = await model.doStream({ ...asked, ...(includeRawChunks && { includeRawChunks }) });
    return { ...(await readReply(stream, onPiece)), ...(request && { request }) };
  } catch (error) {
    if (!UnsupportedFunctionalityError.isInstance(error)) throw error;
    return model.doGenerate(asked);
  }
}

/**
 * A copy, since the AI SDK's types allow a provider to change what it gets. OpenAI would keep each reply, and the next
 * request would only refer to it; a run may go on after it is deleted there. So a request holds the whole transcript.
 */
function settingsOf({ provider }: LanguageModelV4, { options = {} }: ModelRequest): Settings {
  const settings: Settings = Object.keys(options).length === 0 ? {} : (structuredClone(options) as Settings);
  if (provider !== "openai.responses") return settings;
  const { providerOptions = {} } = settings;
  return { ...settings, providerOptions: { ...providerOptions, openai: { store: false, ...providerOptions.openai } } };
}

type Settings = Omit<Parameters<LanguageModelV4["doGenerate"]>[0], "prompt">;

/** Checks a model object at run time: JavaScript agents and other major versions may pass what the type forbids. */
function speaking(choice: LanguageModelV4): LanguageModelV4 {
  const { specificationVersion, doGenerate } = (choice ?? {}) as Partial<LanguageModelV4>;
  if (specificationVersion === "v4" && typeof doGenerate === "function") return choice;
  throw new AgentInvalid(
    `the model is not an AI SDK language model of version v4 but ${specificationVersion ?? typeof choice}: ` +
      "install the major version of the provider's package that depends on @ai-sdk/provider 4, or use scriptedModel",
  );
}
