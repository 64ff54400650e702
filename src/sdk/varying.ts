/** Options of an agent that may be functions of the run: what they make is recorded before the request leaves. */
import type { ChosenPer } from "../core/choice.ts";
import type { Agent, ChoiceMade, ChoiceView, Chooser, ModelChoice } from "../ports/agent.ts";
import { READ_RESULT } from "../core/calls/stored-values.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { ModelOptions } from "../ports/model-options.ts";
import { shown } from "./option-forms.ts";

/** Makes a value of the run. It may read outside and must change nothing: a process that dies asks it again. */
export type MadeOf<Value, Task> = (view: ChoiceView<Task>) => Value | Promise<Value>;

/**
 * A value, or a function of the run: asked at the start, after a restart and with another version of the agent. With
 * `per: "step"` it is asked before each call of the model.
 */
export type Varying<Value, Task> =
  | Value
  | MadeOf<Value, Task>
  | { readonly per: ChosenPer; readonly choose: MadeOf<Value, Task> };

export interface VaryingOptions<Task> {
  /**
   * The system prompt, or a function that makes it. A text is not redacted, so it must not contain a secret; what a
   * function makes is recorded as an object of the run, without secrets.
   */
  readonly instructions: Varying<string, Task>;
  /** A model, or a function that names one of `models`; the first of these is the model of all other calls. */
  readonly model: Varying<ModelChoice, Task>;
  /** The names of the tools that the model is offered. Default: all. */
  readonly activeTools?: Varying<readonly string[], Task>;
  /** Whether and which tool the model calls. Default: as `modelOptions` says. */
  readonly toolChoice?: Varying<NonNullable<ModelOptions["toolChoice"]>, Task>;
}

type Given = VaryingOptions<never> & {
  readonly name: string;
  readonly models?: Readonly<Record<string, ModelChoice | { readonly model: ModelChoice }>>;
  readonly modelOptions?: ModelOptions;
  readonly mcp?: unknown;
};

/** What does not vary, and who chooses the rest. Throws `AgentInvalid`. */
export function varyingOf(given: Given): {
  readonly fixed: Pick<Agent, "instructions" | "model">;
  readonly modelOptions: ModelOptions | undefined;
  readonly chooser?: Chooser;
} {
  const { name, instructions, model, activeTools, toolChoice, models = {}, modelOptions } = given;
  const refuse = (why: string): never => {
    throw new AgentInvalid(`agent ${name}: ${why}`);
  };
  const parts: readonly (readonly [Part, Made | null])[] = [
    ["instructions", madeIn(instructions)],
    ["model", madeIn(model)],
    ["offered", activeTools === undefined ? null : (madeIn(activeTools) ?? { per: "run", choose: () => activeTools })],
    ["toolChoice", madeIn(toolChoice)],
  ];
  const varying = parts.flatMap(([part, made]) => (made === null ? [] : [{ part, ...made }]));
  for (const { part, per, choose } of varying) {
    if (typeof choose !== "function") refuse(`${WORDS[part]} has no function choose`);
    if (per !== "run" && per !== "step") refuse(`${WORDS[part]} has per ${JSON.stringify(per)}: write "run" or "step"`);
  }
  const [first] = Object.values(models);
  const isModelMade = madeIn(model) !== null;
  if (isModelMade && first === undefined)
    refuse("its model is a function, which names one of models: write models: { NAME: model }");
  const own = isModelMade ? modelIn(first) : (model as ModelChoice);
  const isText = typeof instructions === "string";
  const isFixed = toolChoice !== undefined && madeIn(toolChoice) === null;
  return {
    fixed: { instructions: isText ? instructions : "", model: own },
    modelOptions: isFixed
      ? { ...modelOptions, toolChoice: toolChoice as NonNullable<ModelOptions["toolChoice"]> }
      : modelOptions,
    ...(varying.length > 0 && { chooser: chooserOver(varying) }),
  };
}

/** Throws `AgentInvalid` for what names no tool of the agent. Tools of MCP servers are known only once they are listed. */
export function refuseMissingTools({ name, activeTools, toolChoice, modelOptions, mcp }: Given, tools: object): void {
  // What is wrong with them is said where they are read.
  if (Array.isArray(mcp) && mcp.length > 0) return;
  const known = new Set([...Object.keys(tools), READ_RESULT]);
  const named: readonly (readonly [string, string])[] = [
    ...(Array.isArray(activeTools) ? activeTools.map((tool: string) => ["activeTools", tool] as const) : []),
    ...[toolChoice, modelOptions?.toolChoice].flatMap((choice) =>
      typeof choice === "object" && "toolName" in choice ? [["toolChoice", choice.toolName] as const] : [],
    ),
  ];
  const missing = named.find(([, tool]) => !known.has(tool));
  if (missing === undefined) return;
  const [option, tool] = missing;
  throw new AgentInvalid(
    `agent ${name} has ${option} ${shown(tool)}, which is no tool of it: write ${Object.keys(tools).join(" or ") || "a tool"}`,
  );
}

type Part = "instructions" | "model" | "offered" | "toolChoice";

const WORDS: { readonly [P in Part]: string } = {
  instructions: "instructions",
  model: "model",
  offered: "activeTools",
  toolChoice: "toolChoice",
};

interface Made {
  readonly per: ChosenPer;
  readonly choose: MadeOf<unknown, never>;
}

/** Null: the option does not vary. */
function madeIn(given: unknown): Made | null {
  if (typeof given === "function") return { per: "run", choose: given as Made["choose"] };
  const isMade = typeof given === "object" && given !== null && "choose" in given;
  return isMade ? (given as Made) : null;
}

const modelIn = (given: unknown): ModelChoice =>
  typeof given === "object" && given !== null && "model" in given
    ? (given.model as ModelChoice)
    : (given as ModelChoice);

/** What was chosen for the run stays while only steps are due. */
function chooserOver(varying: readonly (Made & { readonly part: Part })[]): Chooser {
  const choose = async (view: ChoiceView<never>): Promise<ChoiceMade> => {
    const { previous } = view;
    const made = await Promise.all(
      varying.map(async ({ part, per, choose: ask }): Promise<ChoiceMade> => {
        if (part === "toolChoice") {
          const kept = per === "run" ? previous?.options?.toolChoice : undefined;
          return { options: { toolChoice: kept ?? ((await ask(view)) as NonNullable<ModelOptions["toolChoice"]>) } };
        }
        const value = (per === "run" ? previous?.[part] : undefined) ?? (await ask(view));
        // An agent whose instructions are a function has no others.
        if (part === "instructions" && value === undefined) throw new Error("instructions returned nothing");
        return { [part]: value };
      }),
    );
    return Object.assign({}, ...made) as ChoiceMade;
  };
  return { per: varying.some(({ per }) => per === "step") ? "step" : "run", choose };
}
