/** What varies from step to step of an AI SDK agent: `prepareCall`, `prepareStep`, `stopWhen`, and callbacks of steps. */
import type { Json } from "../../core/json.ts";
import { modelName } from "../../ports/named-models.ts";
import type { Agent, ChoiceMade, ChoiceView, Chooser, ModelChoice } from "../../ports/agent.ts";
import type { ModelOptions } from "../../ports/model-options.ts";
import { modelOptionsOf } from "../model-options.ts";
import { ON_START, ON_STEP_END, ON_STEP_START, callBack } from "./callbacks.ts";
import type { ToolLoopSettings } from "./settings.ts";
import { runtimeContextOf, modelMessagesOf, stepResultsOf, textOfTask } from "./steps.ts";

/** What the choices are made of. */
export interface Choosing {
  readonly name: string;
  readonly settings: ToolLoopSettings;
  readonly instructions: string;
  /** The tools that are offered unless a function says otherwise. */
  readonly offered: readonly string[];
  readonly tools: Agent["tools"];
  readonly model: ModelChoice;
  readonly models: Readonly<Record<string, { readonly model: ModelChoice }>>;
}

const ASKED = ["stopWhen", "prepareStep", "prepareCall", ...ON_START, ...ON_STEP_START, ...ON_STEP_END];

/** Null: nothing varies. */
export function chooserFor(choosing: Choosing): Chooser | null {
  const { settings } = choosing;
  const isAsked = (key: string): boolean => settings[key] !== undefined && settings[key] !== null;
  if (!ASKED.some(isAsked)) return null;
  const isPerRun = ASKED.every((key) => !isAsked(key) || key === "prepareCall");
  return { per: isPerRun ? "run" : "step", choose: (view) => choose(choosing, view) };
}

async function choose(choosing: Choosing, view: ChoiceView): Promise<ChoiceMade> {
  const { settings, model } = choosing;
  const { prepareStep, prepareCall, toolsContext = {}, runtimeContext: setting, stopWhen } = settings;
  const runtimeContext = runtimeContextOf(setting, view.task);
  const about = { model, runtimeContext, toolsContext: toolsContext as ToolLoopSettings };
  const steps = stepResultsOf(view.steps, about);
  const messages = modelMessagesOf(view);
  const base = { ...about, callId: view.run, messages: messages.messages, instructions: choosing.instructions };
  const last = steps.at(-1);
  if (view.previous === null && steps.length === 0) await callBack(settings, ON_START, base);
  if (last !== undefined) await callBack(settings, ON_STEP_END, last);
  if (last !== undefined && last.toolCalls.length > 0) {
    const conditions = (Array.isArray(stopWhen) ? stopWhen : [stopWhen]).filter((each) => typeof each === "function");
    const met = await Promise.all(conditions.map((condition) => (condition as Ask)({ steps })));
    if (met.some(Boolean)) return { ...view.previous, stop: `stopWhen holds after ${steps.length} steps` };
  }
  const called =
    typeof prepareCall !== "function"
      ? {}
      : (view.previous ?? (await prepared(choosing, prepareCall as Ask, view.task)));
  const initial = typeof prepareCall === "function" ? called.instructions : undefined;
  const given = {
    steps,
    stepNumber: steps.length,
    ...messages,
    ...about,
    instructions: view.previous?.instructions ?? initial ?? choosing.instructions,
    initialInstructions: initial ?? choosing.instructions,
  };
  const stepped =
    typeof prepareStep !== "function"
      ? {}
      : read(choosing, "prepareStep", changedIn(given, await (prepareStep as Ask)(given)));
  await callBack(settings, ON_STEP_START, { ...base, steps, stepNumber: steps.length });
  // Instructions carry forward to later steps, and the rest does not.
  const carried = view.previous?.instructions === undefined ? {} : { instructions: view.previous.instructions };
  const options = { ...called.options, ...stepped.options };
  return { ...called, ...carried, ...stepped, ...(Object.keys(options).length > 0 && { options }) };
}

type Ask = (step: object) => unknown;

/** What a function changed of what it was given: many return all of it. */
const changedIn = (given: ToolLoopSettings, returned: unknown): ToolLoopSettings =>
  Object.fromEntries(Object.entries(returned ?? {}).filter(([key, value]) => value !== given[key]));

/** The settings that `prepareCall` changes. It gets the task as `options`. */
async function prepared(choosing: Choosing, prepareCall: Ask, task: Json): Promise<ChoiceMade> {
  const { prepareCall: _, callOptionsSchema: _1, id: _2, output: _3, ...settings } = choosing.settings;
  const given = { ...settings, prompt: textOfTask(task), options: task } as ToolLoopSettings;
  const { options: _4, ...changed } = changedIn(given, await prepareCall(given));
  return read(choosing, "prepareCall", changed);
}

const OPTIONS: ReadonlySet<string> = new Set([
  ...(["temperature", "maxOutputTokens", "topP", "topK", "presencePenalty", "frequencyPenalty"] as const),
  ...(["stopSequences", "seed", "reasoning", "providerOptions", "toolChoice"] as const),
] satisfies readonly (keyof ModelOptions)[]);

/** Throws for what cannot be recorded with the run: a step that silently went without it would be worse. */
function read(choosing: Choosing, by: string, returned: ToolLoopSettings | object): ChoiceMade {
  const { name, tools } = choosing;
  const given = Object.entries(returned).filter(([, value]) => value !== undefined);
  const options = Object.fromEntries(given.filter(([key]) => OPTIONS.has(key)));
  const rest = given.filter(([key]) => !OPTIONS.has(key));
  const unknown = rest.find(([key]) => !Object.hasOwn(READ, key))?.[0];
  if (unknown !== undefined) throw new Error(`${by} returned ${unknown}, which a run does not record: leave it out`);
  const made: ChoiceMade = Object.assign({}, ...rest.map(([key, value]) => READ[key]?.(value, choosing, by)));
  const order = (returned as ToolLoopSettings)["toolOrder"] as readonly string[] | undefined;
  return {
    ...made,
    ...(order && { offered: toolsInOrder(made.offered ?? choosing.offered, order, Object.keys(tools)) }),
    ...(Object.keys(options).length > 0 && { options: modelOptionsOf(name, options).modelOptions ?? {} }),
  };
}

/** What each member becomes; `toolOrder` is read last. */
const READ: Readonly<Record<string, (value: unknown, choosing: Choosing, by: string) => ChoiceMade>> = {
  instructions: (value) => ({ instructions: instructionsIn(value) }),
  system: (value) => ({ instructions: instructionsIn(value) }),
  activeTools: (value) => ({ offered: value as readonly string[] }),
  tools: (value) => ({ offered: Object.keys(value as object) }),
  model: (value, choosing, by) => modelIn(choosing, by, value as ModelChoice),
  toolOrder: () => ({}),
};

/** Those of the list first, then the others by name. */
export const toolsInOrder = (
  offered: readonly string[],
  order: readonly string[],
  known: readonly string[] = offered,
): readonly string[] => {
  const first = order.filter((each) => offered.includes(each) && known.includes(each));
  return [...first, ...offered.filter((each) => !first.includes(each)).toSorted()];
};

/** A text, or one or more system messages. Throws for options of a message, which a request of cairn has not. */
export function instructionsIn(given: unknown): string {
  if (given === undefined || given === null) return "";
  if (typeof given === "string") return given;
  const messages = (Array.isArray(given) ? given : [given]) as readonly {
    readonly content: unknown;
    readonly providerOptions?: unknown;
  }[];
  if (messages.some(({ content }) => typeof content !== "string")) {
    throw new Error("instructions is no text and no system message");
  }
  if (messages.some(({ providerOptions }) => providerOptions !== undefined)) {
    throw new Error(
      "instructions has providerOptions of a message, and cairn sends one text: write them in providerOptions of the agent",
    );
  }
  return messages.map(({ content }) => content).join("\n\n");
}

function modelIn({ model, models }: Choosing, by: string, chosen: ModelChoice): Pick<ChoiceMade, "model"> {
  const name = typeof chosen === "string" ? chosen : modelName(chosen);
  if (chosen === model || nameOf(model) === name) return {};
  const found = Object.entries(models).find(([, { model: each }]) => each === chosen || nameOf(each) === name)?.[0];
  if (found !== undefined) return { model: found };
  throw new Error(
    `${by} chose the model ${name}, which the agent does not declare, so it has no price and no later process could ` +
      "call it: write models: { NAME: model } in fromToolLoopAgent",
  );
}

const nameOf = (model: ModelChoice): string =>
  typeof model === "string" ? model.replace(/^gateway:/, "") : modelName(model);
