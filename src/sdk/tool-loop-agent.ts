/**
 * An agent of the AI SDK (`ToolLoopAgent` of the package `ai`) on cairn's loop: its settings and tools become those of
 * a cairn agent. The class is read by its shape, so that cairn needs no dependency on the package.
 *
 * A setting that has no meaning here is refused by name when the file loads (`tool-loop/settings.ts`): a run that
 * silently went without it would be worse.
 */
import type * as z from "zod";
import type { Effect } from "../core/calls/effects.ts";
import { reactTopology } from "../core/topologies/react.ts";
import type { Agent, Check, Tool, ModelChoice } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { ModelOptions } from "../ports/model-options.ts";
import { defineAgent } from "./define.ts";
import { MODEL } from "./definition-forms.ts";
import { checkForms } from "./option-forms.ts";
import { SETTING_FORMS } from "./tool-loop/forms.ts";
import { ON_END, ON_STEP_END, callBack } from "./tool-loop/callbacks.ts";
import { chooserFor, toolsInOrder, instructionsIn } from "./tool-loop/choose.ts";
import { parsedOutputOf } from "./tool-loop/output.ts";
import { convertSchema } from "./tool-loop/schemas.ts";
import { type ToolLoopSettings, isGiven, toolLoopSettings } from "./tool-loop/settings.ts";
import { runtimeContextOf, stepResultsOf, totalUsageOf } from "./tool-loop/steps.ts";
import { type AiTool, toolFrom } from "./tool-loop/tools.ts";
import { namedModel } from "../ports/named-models.ts";

/** A `ToolLoopAgent`. TypeScript hides its settings. */
export interface ToolLoopAgentLike {
  readonly tools?: object;
}

type Defined<Task extends z.ZodType, Output extends z.ZodType> = Parameters<typeof defineAgent<Task, Output>>[0];

/** The options of `fromToolLoopAgent`: those of `defineAgent` that the AI SDK does not know. */
type ToolLoopOptions<Task extends z.ZodType, Output extends z.ZodType> = Omit<
  Defined<Task, Output>,
  "model" | "instructions" | "tools" | "modelOptions" | "task"
> & {
  /** The schema of the input of a run. Default: `callOptionsSchema` of the agent. */
  readonly task?: Task;
  /** Whether and how the effect of each tool may be repeated. A tool that is not named is `unsafe`. */
  readonly effects?: Readonly<Record<string, Effect>>;
  /** Tools of cairn in place of those of the same name, for a probe, an undo or a business key. */
  readonly tools?: Defined<Task, Output>["tools"];
};

/**
 * Defines an agent from an AI SDK agent. A tool's `execute` gets the idempotency key as `toolCallId`, and no messages.
 * The loop has 20 beats, as in the AI SDK, and 1,000 with `stopWhen`, unless `topology` says otherwise.
 *
 * @example
 *   export const travel = fromToolLoopAgent(new ToolLoopAgent({ model, instructions, tools }), {
 *     name: "travel",
 *     version: "1",
 *     task: z.object({ to: z.string() }),
 *     effects: { searchFlights: "none", bookFlight: "keyed" },
 *   });
 *
 * @throws AgentInvalid for a setting that cairn's loop cannot honour, and for a tool that it could not run
 */
export function fromToolLoopAgent<Task extends z.ZodType, Output extends z.ZodType = z.ZodType>(
  agent: ToolLoopAgentLike,
  { effects = {}, tools = {}, ...options }: ToolLoopOptions<Task, Output>,
): Agent<Task, Output> {
  const { name } = options;
  const settings = toolLoopSettings(name, agent);
  if (!isGiven(settings, "model")) throw new AgentInvalid(`agent ${name} has no model: write ${MODEL.says}`);
  checkForms(`agent ${name}`, settings, SETTING_FORMS);
  const theirs = (settings["tools"] ?? {}) as Readonly<Record<string, AiTool>>;
  const unknown = Object.keys(effects).find((each) => !Object.hasOwn(theirs, each));
  if (unknown !== undefined) throw new AgentInvalid(`agent ${name} has an effect for ${unknown}, and no such tool`);
  checkOthers(options as Defined<Task, Output>, settings);
  const limits = timesIn(name, settings["timeout"]);
  const converted = Object.entries(theirs)
    .filter(([each]) => !Object.hasOwn(tools, each))
    .map(([each, given]) => {
      const timeoutMs = limits.tools[`${each}Ms`] ?? limits.toolMs ?? null;
      const around = { which: `tool ${each} of agent ${name}`, name: each, effect: effects[each], timeoutMs, settings };
      return [each, toolFrom(given, around)] as const;
    });
  const all = { ...(Object.fromEntries(converted) as Readonly<Record<string, Tool>>), ...tools };
  const offered = offeredOf(name, settings, Object.keys(all));
  const made = isGiven(settings, "output") ? parsedOutputOf(name, settings["output"]) : null;
  const instructions = throwing(name, () => instructionsIn(settings["instructions"]));
  const model = modelFrom(settings["model"]);
  const isStopped = isGiven(settings, "stopWhen");
  const isVarying = isGiven(settings, "prepareStep") || isGiven(settings, "prepareCall");
  // Functions may offer each tool, so that an agent that has them keeps all.
  const kept = isVarying ? all : Object.fromEntries(offered.map((each) => [each, all[each]]));
  const modelOptions = modelOptionsIn(settings);
  const defined = defineAgent<Task, Output>({
    topology: reactTopology({ maxBeats: isStopped ? STOPPED_BEATS_MAX : 20 }),
    ...(limits.totalMs !== undefined && { deadline: { after: limits.totalMs } }),
    ...(limits.stepMs !== undefined && { hardIdleMs: limits.stepMs }),
    ...(options as Defined<Task, Output>),
    task: (options.task ?? taskOf(name, settings)) as Task,
    model,
    instructions,
    tools: kept as Defined<Task, Output>["tools"],
    ...(Object.keys(modelOptions).length > 0 && { modelOptions }),
    done: [
      ...(options.done ?? []),
      ...(made === null ? [] : [made.check as Check<z.output<Task>>]),
      ...callbacksOf(settings, model),
    ],
  });
  const { tools: known, models = {} } = defined;
  const chooser = chooserFor({ name, settings, instructions, offered, tools: known, model, models });
  const isNarrowed = isVarying && offered.length < Object.keys(all).length;
  return {
    ...defined,
    ...(made && { result: made.result, output: made.output as Output }),
    ...(chooser && { chooser: isNarrowed ? narrowed(chooser, offered) : chooser }),
  };
}

/** A loop with a condition of its own needs another bound only against one that never holds. */
const STOPPED_BEATS_MAX = 1_000;

/** Offers the tools of `activeTools` where a function chooses none. */
const narrowed = (
  { per, choose }: NonNullable<Agent["chooser"]>,
  offered: readonly string[],
): NonNullable<Agent["chooser"]> => ({ per, choose: async (view) => ({ offered, ...(await choose(view)) }) });

const MODEL_OPTIONS: readonly (keyof ModelOptions)[] = [
  ...(["temperature", "maxOutputTokens", "topP", "topK", "presencePenalty", "frequencyPenalty"] as const),
  ...(["stopSequences", "seed", "providerOptions", "toolChoice", "reasoning"] as const),
];

function modelOptionsIn(settings: ToolLoopSettings): ModelOptions {
  const headers = Object.entries((settings["headers"] ?? {}) as ToolLoopSettings).filter(
    ([, value]) => value !== undefined,
  );
  return {
    ...Object.fromEntries(MODEL_OPTIONS.flatMap((key) => (isGiven(settings, key) ? [[key, settings[key]]] : []))),
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) as Record<string, string> }),
  };
}

/** Throws `AgentInvalid` for values of settings that are used, where these values cannot be. */
function checkOthers(
  { name, chat = false, output, result }: Defined<z.ZodType, z.ZodType>,
  settings: ToolLoopSettings,
): void {
  const refuse = (isWrong: boolean, why: string): void => {
    if (isWrong) throw new AgentInvalid(`agent ${name}: ${why}`);
  };
  for (const key of ["telemetry", "experimental_telemetry"]) {
    const integrations = (settings[key] as { readonly integrations?: unknown } | undefined)?.integrations;
    const count = Array.isArray(integrations) ? integrations.length : integrations === undefined ? 0 : 1;
    refuse(
      count > 0,
      `the setting ${key} has integrations, which would hear nothing: cairn traces its runs itself (OTLP)`,
    );
  }
  const { toolCallConcurrency: most = 1, stopWhen } = settings;
  refuse(
    most !== 1 && most !== Infinity,
    `the setting toolCallConcurrency is ${String(most)}: cairn runs the calls of a reply one after the other (1) or together`,
  );
  const conditions = Array.isArray(stopWhen) ? stopWhen : stopWhen === undefined || stopWhen === null ? [] : [stopWhen];
  refuse(
    conditions.some((each) => typeof each !== "function"),
    "the setting stopWhen is no condition: write isStepCount(20) or hasToolCall(NAME)",
  );
  refuse(
    chat !== false && conditions.length > 0,
    "the setting stopWhen would end the conversation of chat: leave it out",
  );
  const unheard = [...ON_END, ...ON_STEP_END].find((key) => isGiven(settings, key));
  refuse(
    chat !== false && unheard !== undefined,
    `the setting ${unheard} would not be called in a conversation (chat)`,
  );
  refuse(
    isGiven(settings, "output") && (output !== undefined || result !== undefined),
    "its ToolLoopAgent has an output, and there is another one, or a result: write one of them",
  );
  for (const key of ["prepareStep", "prepareCall"]) {
    refuse(isGiven(settings, key) && typeof settings[key] !== "function", `the setting ${key} is no function`);
  }
}

/** The tools that the model is offered, in their order. */
function offeredOf(name: string, settings: ToolLoopSettings, known: readonly string[]): readonly string[] {
  const active = (settings["activeTools"] ?? known) as readonly string[];
  const order = settings["toolOrder"] as readonly string[] | undefined;
  const missing = active.find((each) => !known.includes(each));
  if (missing !== undefined)
    throw new AgentInvalid(`agent ${name}: activeTools names ${missing}, and there is no such tool`);
  return order === undefined ? known.filter((each) => active.includes(each)) : toolsInOrder(active, order);
}

interface Times {
  readonly totalMs?: number;
  readonly stepMs?: number;
  readonly toolMs?: number;
  readonly tools: Readonly<Record<string, number | undefined>>;
}

function timesIn(name: string, given: unknown): Times {
  if (given === undefined || given === null) return { tools: {} };
  if (typeof given === "number") return { totalMs: given, tools: {} };
  const { totalMs, stepMs, toolMs, tools = {}, ...others } = given as Partial<Times>;
  const other = Object.entries(others).find(([, value]) => value !== undefined)?.[0];
  if (other !== undefined) {
    throw new AgentInvalid(
      `agent ${name}: the setting timeout.${other} cannot be used: a reply counts as a whole here, so write stepMs`,
    );
  }
  return {
    ...(totalMs !== undefined && { totalMs }),
    ...(stepMs !== undefined && { stepMs }),
    ...(toolMs !== undefined && { toolMs }),
    tools,
  };
}

function taskOf(name: string, settings: ToolLoopSettings): z.ZodType {
  if (isGiven(settings, "callOptionsSchema")) {
    return convertSchema(`the callOptionsSchema of agent ${name}`, settings["callOptionsSchema"]).schema;
  }
  throw new AgentInvalid(
    `agent ${name} has no task: write task: z.object({ ... }), or callOptionsSchema in the ToolLoopAgent`,
  );
}

/** What `instructionsIn` throws, as what is wrong with the agent. */
function throwing<T>(name: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    throw new AgentInvalid(`agent ${name}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** A check that holds, after it has told of the last step and of the end. */
function callbacksOf(settings: ToolLoopSettings, model: unknown): readonly Check[] {
  const names = [...ON_END, ...ON_STEP_END];
  if (!names.some((each) => isGiven(settings, each))) return [];
  const holds: Check["holds"] = async (view) => {
    const runtimeContext = runtimeContextOf(settings["runtimeContext"], view.task);
    const toolsContext = (settings["toolsContext"] ?? {}) as ToolLoopSettings;
    const steps = stepResultsOf(view.steps ?? [], { model, runtimeContext, toolsContext });
    const last = steps.at(-1);
    // A step with calls was told of before the call after it.
    if (last !== undefined && last.finishReason === "stop") await callBack(settings, ON_STEP_END, last);
    await callBack(settings, ON_END, { ...last, steps, usage: totalUsageOf(view), totalUsage: totalUsageOf(view) });
    return true;
  };
  return [{ name: "ai-sdk-callbacks", holds }];
}

interface DefaultProvider {
  readonly languageModel?: (id: string) => ModelChoice;
}

/**
 * Models that an AI SDK agent gives as text: the default provider of the AI SDK calls them, which is the AI Gateway. A
 * text that cairn understands stays what it is here. Others are models of the gateway: its key is looked for when the
 * agent is loaded.
 */
function modelFrom(given: unknown): ModelChoice {
  if (typeof given !== "string") return given as ModelChoice;
  const { AI_SDK_DEFAULT_PROVIDER: own } = globalThis as { readonly AI_SDK_DEFAULT_PROVIDER?: DefaultProvider };
  if (typeof own?.languageModel === "function") return own.languageModel(given);
  return isNamed(given) ? given : `gateway:${given}`;
}

function isNamed(given: string): boolean {
  try {
    namedModel(given);
    return true;
  } catch {
    return false;
  }
}
