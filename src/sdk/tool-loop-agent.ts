/**
 * An agent of the AI SDK (`ToolLoopAgent` of the package `ai`) on cairn's loop: its model, instructions, settings and
 * tools become those of a cairn agent. The class is read by its shape, so that cairn needs no dependency on the package.
 *
 * Settings that steer the AI SDK's own loop have no meaning here. They are refused by name: a run that silently went
 * without a stop condition or a callback would be worse.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type * as z from "zod";
import { type Effect, STRICTEST } from "../core/calls/effects.ts";
import { react } from "../core/topologies/react.ts";
import type { Agent, Tool } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { ModelOptions } from "../ports/model-options.ts";
import { defineAgent, tool } from "./define.ts";

/** A `ToolLoopAgent`. TypeScript hides its settings. */
export interface ToolLoopAgentLike {
  readonly tools?: object;
}

type Defined<Task extends z.ZodType, Output extends z.ZodType> = Parameters<typeof defineAgent<Task, Output>>[0];

/** The options of `fromToolLoopAgent`: those of `defineAgent` that the AI SDK does not know. */
type ToolLoopOptions<Task extends z.ZodType, Output extends z.ZodType> = Omit<
  Defined<Task, Output>,
  "model" | "instructions" | "tools" | "modelOptions"
> & {
  /** Whether and how the effect of each tool may be repeated. A tool that is not named is `unsafe`. */
  readonly effects?: Readonly<Record<string, Effect>>;
  /** Tools of cairn in place of those of the same name, for a probe, an undo or a business key. */
  readonly tools?: Defined<Task, Output>["tools"];
};

/** A tool of the AI SDK, as far as it is read. */
interface AiTool {
  readonly description?: string;
  readonly inputSchema: z.ZodType;
  readonly needsApproval?: unknown;
  readonly execute?: (input: unknown, options: object) => unknown;
}

/**
 * Defines an agent from an AI SDK agent. A tool's `execute` gets the idempotency key as `toolCallId`, and no messages.
 * A tool with `needsApproval` needs an approval for every call. The loop has 20 beats, unless `topology` says otherwise.
 *
 * @example
 *   export const travel = fromToolLoopAgent(new ToolLoopAgent({ model, instructions, tools }), {
 *     name: "travel",
 *     version: "1",
 *     task: z.object({ to: z.string() }),
 *     effects: { searchFlights: "none", bookFlight: "keyed" },
 *   });
 *
 * @throws AgentInvalid for a setting that cairn's loop does not have, and for a tool that it could not run
 */
export function fromToolLoopAgent<Task extends z.ZodType, Output extends z.ZodType = z.ZodType>(
  agent: ToolLoopAgentLike,
  { effects = {}, tools = {}, ...options }: ToolLoopOptions<Task, Output>,
): Agent<Task, Output> {
  const { name } = options;
  const settings = settingsOf(name, agent);
  const theirs = (settings["tools"] ?? {}) as Readonly<Record<string, AiTool>>;
  const contexts = (settings["toolsContext"] ?? {}) as Settings;
  const unknown = Object.keys(effects).find((each) => !Object.hasOwn(theirs, each));
  if (unknown !== undefined) throw new AgentInvalid(`agent ${name} has an effect for ${unknown}, and no such tool`);
  const converted = Object.entries(theirs)
    .filter(([each]) => !Object.hasOwn(tools, each))
    .map(([each, of]) => [
      each,
      toolFrom(`tool ${each} of agent ${name}`, of, { effect: effects[each], context: contexts[each] }),
    ]);
  const modelOptions = Object.fromEntries(
    MODEL_OPTIONS.flatMap((key) => (isSet(settings, key) ? [[key, settings[key]]] : [])),
  );
  return defineAgent<Task, Output>({
    topology: react({ maxBeats: 20 }),
    ...(options as Defined<Task, Output>),
    model: settings["model"] as LanguageModelV4,
    instructions: instructionsIn(settings["instructions"]),
    tools: { ...(Object.fromEntries(converted) as Readonly<Record<string, Tool>>), ...tools },
    ...(Object.keys(modelOptions).length > 0 && { modelOptions }),
  });
}

type Settings = Readonly<Record<string, unknown>>;

const MODEL_OPTIONS: readonly (keyof ModelOptions)[] = [
  ...(["temperature", "maxOutputTokens", "topP", "topK", "presencePenalty", "frequencyPenalty"] as const),
  ...(["stopSequences", "seed", "providerOptions"] as const),
];

/** What is converted, and the number of retries and an ID, which the loop of cairn has of its own. */
const KNOWN: ReadonlySet<string> = new Set([
  ...MODEL_OPTIONS,
  ...["id", "model", "instructions", "tools", "toolsContext", "maxRetries"],
]);

const isSet = (settings: Settings, key: string): boolean => settings[key] !== undefined && settings[key] !== null;

function settingsOf(name: string, agent: ToolLoopAgentLike): Settings {
  const { settings } = agent as { readonly settings?: unknown };
  if (typeof settings !== "object" || settings === null) {
    throw new AgentInvalid(
      `agent ${name} is made of no ToolLoopAgent: write new ToolLoopAgent({ ... }) of the package ai`,
    );
  }
  const other = Object.keys(settings).find((key) => !KNOWN.has(key) && isSet(settings as Settings, key));
  if (other === undefined) return settings as Settings;
  throw new AgentInvalid(
    `agent ${name}: the setting ${other} of its ToolLoopAgent steers the loop of the AI SDK, and cairn's loop runs this ` +
      "agent: leave it out, and use the options of defineAgent (topology, done, output, budget)",
  );
}

/** A text, or one or more system messages. */
function instructionsIn(given: unknown): string {
  if (given === undefined) return "";
  if (typeof given === "string") return given;
  const messages = (Array.isArray(given) ? given : [given]) as readonly { readonly content: string }[];
  return messages.map(({ content }) => content).join("\n\n");
}

function toolFrom(
  which: string,
  { description = "", inputSchema, needsApproval = false, execute }: AiTool,
  { effect = STRICTEST, context }: { readonly effect: Effect | undefined; readonly context: unknown },
): Tool {
  if (execute === undefined) throw new AgentInvalid(`${which} has no execute: cairn runs the tools of an agent itself`);
  return tool({
    description,
    input: inputSchema,
    effect,
    approval: needsApproval === false ? "never" : "always",
    run: async ({ input, key, signal }) =>
      lastOf(await execute(input, { toolCallId: key, messages: [], abortSignal: signal, context })),
  });
}

/** A tool of the AI SDK may yield preliminary results; the last one counts. */
async function lastOf(given: unknown): Promise<unknown> {
  if (typeof given !== "object" || given === null || !(Symbol.asyncIterator in given)) return given;
  let last: unknown = null;
  for await (const each of given as AsyncIterable<unknown>) last = each;
  return last;
}
