/**
 * The functions with which users define agents, tools and checks. Every definition is validated at once, so that no run
 * starts with an agent that cannot end well.
 */
import type * as z from "zod";
import { EFFECTS } from "../core/calls/effects.ts";
import type { Dial } from "../core/policy/dial.ts";
import { isName } from "../core/ids.ts";
import { BOUNDS } from "../core/limits.ts";
import type { Json } from "../core/json.ts";
import { SIZES } from "../codec/limits.ts";
import type { Price } from "../core/policy/price.ts";
import type { Budget } from "../core/policy/budget.ts";
import type { UpgradePolicy } from "../core/state.ts";
import { type ApprovalOptions, approvalsOf } from "./approvals.ts";
import { type BudgetOptions, budgetFrom, budgetSchema } from "./budget.ts";
import { type ChatOptions, chatOf } from "./chat.ts";
import { type McpOptions, sourcesOf } from "./mcp.ts";
import { wrongWithChild } from "./child-tool.ts";
import { type ContextOptions, contextOptionsOf } from "./context.ts";
import { type DeadlineOptions, deadlineOf } from "./deadline.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { AGENT_FORMS, TOOL_FORMS } from "./definition-forms.ts";
import { refuseUnknown } from "./known-options.ts";
import { FUNCTION, TEXT, checkForms, refuseMissing, refuseNoOptions, shown } from "./option-forms.ts";
import { type OutageOptions, outagePolicyOf } from "./outage.ts";
import { firstIssue, parsedOption } from "./issues.ts";
import { type Remembering, memoryPolicyOf } from "./memory.ts";
import { modelOptionsOf, resultOptionsOf } from "./model-options.ts";
import { priceOf } from "./prices.ts";
import type {
  Check,
  Schedule,
  ToolRules,
  Agent,
  ApprovalRule,
  BeforeContext,
  Tool,
  ToolContext,
  ProbeContext,
  RunView,
  Probe,
  LoopPolicy,
  OnIdle,
} from "../ports/agent.ts";
import type { ModelOptions } from "../ports/model-options.ts";
import { type ResultsOptions, resultsOf } from "./results.ts";
import { type RetentionOptions, retentionOf } from "./retention.ts";
import { type ScheduleOptions, parseSchedule } from "./schedule.ts";
import { type SagaOptions, sagaOf } from "./saga.ts";
import { secretNames } from "./secrets.ts";
import { TOOL_OPTIONS, type ToolOptions, rulesOf, wrongWithEffect, wrongWithRules } from "./tool-rules.ts";
import { type VaryingOptions, refuseMissingTools, varyingOf } from "./varying.ts";
import { type TopologyOptions, checkTopology, checkpointOf, roleModels } from "./topology.ts";

/** A tool with any schema. The runner parses the arguments with that schema before it calls the tool. */
type AnyTool = Omit<Tool, "run" | "probe" | "before" | "approval" | "key" | "undo"> & {
  readonly run: (context: ToolContext<never>) => unknown;
  readonly probe: ((context: ProbeContext<never>) => Probe | Promise<Probe>) | null;
  readonly before?: (input: never, context: BeforeContext) => unknown;
  readonly approval: "never" | "always" | ApprovalRule<never>;
  readonly key: ToolRules<never>["key"];
  readonly undo: ToolRules<never>["undo"];
};

/** The options of `defineAgent`. */
interface AgentOptions<Task extends z.ZodType, Output extends z.ZodType = z.ZodType>
  extends
    OutageOptions,
    TopologyOptions,
    ChatOptions,
    McpOptions,
    ResultsOptions,
    VaryingOptions<z.output<Task>>,
    Remembering<z.output<Task>> {
  /** 1 to 64 letters, digits, `-` and `_`. Commands and schedules name the agent by it. */
  readonly name: string;
  /** Any text. Change it whenever a run should record the change, or wait for it (`upgrade`). */
  readonly version: string;
  /** Temperature, token limit and others, for every request of its runs. Default: what the provider does. */
  readonly modelOptions?: ModelOptions;
  /**
   * The zod schema of the result, an object. The model is asked for JSON of that form, a reply that does not fit is sent
   * back with what is wrong, and the result of the run is the parsed value. In place of `result`.
   */
  readonly output?: Output;
  /** The zod schema of the input of a run. */
  readonly task: Task;
  /** At most 128 tools by name. A name is 1 to 64 letters, digits, `-` and `_`. */
  readonly tools: Readonly<Record<string, AnyTool>>;
  /** The definition of done: a run completes only if all of these checks hold. Default: none. */
  readonly done?: readonly Check<z.output<Task>>[];
  /**
   * What lists, approvals and the console call a run, such as `({ task }) => `refund ${task.order}``. It is cut to 60 bytes,
   * without secrets, and made once when the run starts. Default, also if it throws: an excerpt of the input.
   */
  readonly title?: (view: { readonly task: z.output<Task> }) => string;
  /** Computes the result of a run; default: the text of the model's final reply. */
  readonly result?: (view: RunView<z.output<Task>>) => Json;
  /**
   * `follow` (default): a run continues with the deployed version of its agent. `pin`: it waits until an operator
   * accepts another version (`resume RUN --upgrade`). A run keeps the policy with which it was started.
   */
  readonly upgrade?: UpgradePolicy;
  /**
   * What happens to a run that no answer, resume or message reaches for 30 days. Three days before, an alarm and
   * `run.expiring` warn. `end` (default): it fails as `Expired`, and its effects stay as they are. `wait`: it goes on
   * waiting, and warns again every 27 days.
   */
  readonly onIdle?: OnIdle;
  /**
   * What the trace of a caller (`traceparent`) is to the trace of a run that it starts. `link` (default): the run has a
   * trace of its own, which links to it. `parent`: the run is a part of it, and is recorded if the caller's is.
   */
  readonly callerTrace?: "link" | "parent";
  /** Limits for one run. They hold across crashes. */
  readonly budget?: BudgetOptions;
  /**
   * Dollars per million tokens; default: from `cairn.config.ts`, then `prices.ts`. Without any, no money is counted.
   */
  readonly price?: Price;
  /**
   * `stop` (default): a run that repeats equal calls, or whose calls of one tool fail in 8 replies in a row, is stopped.
   * `{ failures: 20 }`: the same, with another number. `ignore`: for agents that are made for such calls.
   */
  readonly loops?: LoopPolicy;
  /** `auto`: a cheap reply that calls only tools without an effect is not committed until these have run. */
  readonly dial?: Dial;
  /**
   * Fails a run that has waited this many milliseconds for one reply of its model. Default: only the call times out.
   */
  readonly hardIdleMs?: number;
  /** When the context is compacted, by which model and how. */
  readonly context?: ContextOptions;
  /** Starts runs at the times of a schedule expression. */
  readonly schedule?: ScheduleOptions<z.input<Task>>;
  /**
   * How many days an ended run is kept: 1 / 24 (an hour) to 90; default 24 hours. And whether an archive remains after
   * that: `warm` for 90 days, `cold` for seven years. It applies to runs that start after the change.
   */
  readonly retention?: RetentionOptions;
  /** How long approvals wait for a human, those for more budget included. Default: a day, then they are denied. */
  readonly approvals?: ApprovalOptions;
  /** When a run must be over, whatever it waits for. Default: never. */
  readonly deadline?: DeadlineOptions;
  /** Default: when a run fails, cairn compensates the calls that can be undone, then ends the run. */
  readonly saga?: SagaOptions;
  /** Names of the secrets that its tools may read, such as `AIRLINE_TOKEN`. Their values are never written. */
  readonly secrets?: readonly string[];
}

const AGENT_OPTIONS: { readonly [Option in keyof AgentOptions<z.ZodType>]-?: true } = {
  name: true,
  version: true,
  model: true,
  modelOptions: true,
  models: true,
  instructions: true,
  price: true,
  task: true,
  tools: true,
  mcp: true,
  output: true,
  result: true,
  results: true,
  done: true,
  chat: true,
  title: true,
  topology: true,
  checkpoint: true,
  budget: true,
  loops: true,
  dial: true,
  context: true,
  memory: true,
  upgrade: true,
  schedule: true,
  retention: true,
  deadline: true,
  saga: true,
  secrets: true,
  activeTools: true,
  toolChoice: true,
  hardIdleMs: true,
  outageMax: true,
  fallbacks: true,
  approvals: true,
  onIdle: true,
  callerTrace: true,
};

/**
 * Defines an agent and validates its options. An agent file exports the result under any name.
 *
 * @example
 *   export const greeter = defineAgent({
 *     name: "greeter",
 *     version: "1",
 *     instructions: "Greet the person by letter.",
 *     model: "openai-compatible:http://127.0.0.1:8080/v1#model",
 *     task: z.object({ name: z.string() }),
 *     tools: { sendLetter },
 *     budget: { tokens: 100_000 },
 *   });
 *
 * @throws AgentInvalid with the first problem
 */
export function defineAgent<Task extends z.ZodType, Output extends z.ZodType = z.ZodType>(
  options: AgentOptions<Task, Output>,
): Agent<Task, Output> {
  refuseNoOptions("an agent", options);
  const { name } = options;
  refuse(
    typeof name !== "string" || !isName(name),
    `an agent's name is ${NAME_IN_WORDS}, and not ${typeof name === "string" ? JSON.stringify(name) : shown(name)}`,
  );
  refuseUnknown(`agent ${name}`, options, AGENT_OPTIONS);
  checkForms(`agent ${name}`, options, AGENT_FORMS);
  refuseMissing(`agent ${name}`, options, { forms: AGENT_FORMS, needed: ["model", "instructions", "task"] });
  refuse(typeof options.version !== "string" || options.version === "", `agent ${name} has no version`);
  validateTools(name, options.tools);
  const { tools, topology } = chatOf<AnyTool>(options);
  const budget = options.budget === undefined ? undefined : parsedOption(budgetSchema(), options.budget);
  refuse(budget?.success === false, `the budget of agent ${name}: ${firstIssue(budget?.error)}`);
  const secrets = options.secrets === undefined ? undefined : secretNames().safeParse(options.secrets);
  refuse(secrets?.success === false, `the secrets of agent ${name}: ${firstIssue(secrets?.error)}`);
  const { models, ...context } = contextOptionsOf(name, options.context, roleModels(name, options.models));
  checkTopology(name, { topology, models, tools: tools as Agent["tools"], sources: options.mcp ?? [] });
  const { fixed, modelOptions, chooser } = varyingOf(options);
  refuseMissingTools(options, tools);
  const { upgrade = "follow" } = options;
  refuse(upgrade !== "follow" && upgrade !== "pin", `agent ${name} has upgrade ${upgrade}: write "follow" or "pin"`);
  const { onIdle = "end" } = options;
  refuse(onIdle !== "end" && onIdle !== "wait", `agent ${name} has onIdle ${onIdle}: write "end" or "wait"`);
  const { callerTrace = "link" } = options;
  refuse(
    callerTrace !== "link" && callerTrace !== "parent",
    `agent ${name} has callerTrace ${String(callerTrace)}: write "link" or "parent"`,
  );
  const { loops = "stop", dial = "always", hardIdleMs = null } = options;
  refuse(dial !== "auto" && dial !== "always", `agent ${name} has dial ${String(dial)}: write "auto" or "always"`);
  refuse(
    !isLoopPolicy(loops),
    `agent ${name} has loops ${typeof loops === "object" ? JSON.stringify(loops) : shown(loops)}: write ${LOOPS_IN_WORDS}`,
  );
  refuse(
    hardIdleMs !== null && !(Number.isSafeInteger(hardIdleMs) && hardIdleMs > 0),
    `agent ${name} has hardIdleMs ${hardIdleMs}: write a positive whole number of milliseconds`,
  );
  const limits = budgetFrom(budget?.data ?? {}, topology.maxBeats);
  validateChildTools(name, tools, limits);
  const saga = sagaOf(options.saga);
  if (typeof saga === "string") throw new AgentInvalid(`the saga of agent ${name}: ${saga}`);
  const retention = retentionOf(options.retention);
  if (typeof retention === "string") throw new AgentInvalid(`the retention of agent ${name}: ${retention}`);
  return {
    name,
    version: options.version,
    ...fixed,
    ...(chooser && { chooser }),
    task: options.task,
    tools: tools as Readonly<Record<string, Tool>>,
    ...sourcesOf(name, options.mcp),
    ...resultOptionsOf(options),
    ...(options.title !== undefined && { title: options.title }),
    ...modelOptionsOf(name, modelOptions),
    topology,
    models,
    ...checkpointOf(name, options.checkpoint),
    ...memoryPolicyOf(name, options.memory),
    upgrade,
    ...(onIdle === "wait" && { onIdle }),
    ...(callerTrace === "parent" && { callerTrace }),
    budget: limits,
    ...priceOf({ ...options, model: fixed.model }),
    loops,
    dial,
    hardIdleMs,
    ...outagePolicyOf(name, options),
    ...context,
    schedule: scheduleOf(options),
    retention,
    saga,
    ...deadlineOf(name, options.deadline),
    ...approvalsOf(`agent ${name}`, options.approvals),
    secrets: secrets?.data ?? [],
    ...resultsOf(name, options),
  };
}

const NAME_IN_WORDS = "1 to 64 letters, digits, - and _, of which the first is a letter";

const LOOPS_IN_WORDS = `"stop", "ignore" or { failures: 2 to ${BOUNDS.loopFailuresMax} }`;

function isLoopPolicy(loops: LoopPolicy): boolean {
  if (typeof loops !== "object") return loops === "stop" || loops === "ignore";
  // It may come from JavaScript.
  const failures: unknown = loops?.failures;
  const isCount = typeof failures === "number" && Number.isSafeInteger(failures);
  return isCount && failures >= 2 && failures <= BOUNDS.loopFailuresMax && Object.keys(loops).length === 1;
}

/** Throws `AgentInvalid` with the first tool that the engine could not run as declared. */
function validateTools(name: string, tools: Readonly<Record<string, AnyTool>>): void {
  // An agent may come from JavaScript.
  refuse(typeof tools !== "object" || tools === null, `agent ${name} has no tools: write tools: {} if it needs none`);
  refuse(Object.keys(tools).length > SIZES.toolsMax, `agent ${name} has more than ${SIZES.toolsMax} tools`);
  for (const tool of Object.keys(tools)) {
    refuse(!isName(tool), `a tool's name is ${NAME_IN_WORDS}, and not ${JSON.stringify(tool)}`);
  }
  for (const [tool, declared] of Object.entries(tools)) {
    refuse(declared?.run === undefined, `tool ${tool} of agent ${name} is none: write tool({ ... })`);
    checkForms(`tool ${tool} of agent ${name}`, declared, TOOL_FORMS);
    const { effect, probe, before } = declared;
    const wrongEffect = wrongWithEffect(effect, declared);
    refuse(wrongEffect !== null, `tool ${tool} of agent ${name}: ${wrongEffect}`);
    const wrong = EFFECTS[effect].hasProbe !== (probe !== null && probe !== undefined);
    refuse(wrong, `tool ${tool} of agent ${name}: a probed tool has a probe, and no other tool has one`);
    const isUnread = before !== undefined && !EFFECTS[effect].hasProbe;
    refuse(isUnread, `tool ${tool} of agent ${name}: only a probe reads what before returns, and this tool has none`);
    const wrongRule = wrongWithRules(effect, declared);
    refuse(wrongRule !== null, `tool ${tool} of agent ${name}: ${wrongRule}`);
  }
}

/** Throws `AgentInvalid` with the first child tool that does not fit the budget of its agent. */
function validateChildTools(name: string, tools: Readonly<Record<string, AnyTool>>, limits: Budget): void {
  for (const [tool, { child }] of Object.entries(tools)) {
    const wrong = child === undefined ? null : wrongWithChild(child, limits);
    refuse(wrong !== null, `child tool ${tool} of agent ${name}: ${wrong}`);
  }
}

function scheduleOf<Task extends z.ZodType>({ name, schedule, task }: AgentOptions<Task>): Schedule | null {
  const parsed = schedule === undefined ? null : parseSchedule(schedule, task);
  if (typeof parsed === "string") throw new AgentInvalid(`the schedule of agent ${name}: ${parsed}`);
  return parsed;
}

/**
 * Defines a tool. `defineAgent` validates the values of its options. By default a tool needs no approval, runs in parallel with
 * others, and gets the world's timeout (30 s).
 *
 * @example
 *   const sendLetter = tool({
 *     description: "Sends a letter.",
 *     input: z.object({ to: z.string() }),
 *     effect: "keyed", // the post office deduplicates letters by our key
 *     run: ({ input, key, signal }) => post.send(input.to, { key, signal }),
 *   });
 */
export function tool<Schema extends z.ZodType, Output extends z.ZodType = z.ZodType>(
  options: ToolOptions<Schema, Output>,
): Tool<Schema> {
  refuseNoOptions("a tool", options);
  refuseUnknown("a tool", options, TOOL_OPTIONS);
  return {
    description: options.description ?? "",
    input: options.input,
    output: options.output ?? null,
    effect: options.effect,
    run: options.run,
    probe: options.probe ?? null,
    ...(options.before === undefined ? {} : { before: options.before }),
    approval: options.approval ?? "never",
    ...approvalsOf("a tool", options.approvals),
    timeoutMs: options.timeoutMs ?? null,
    settleMs: options.settleMs ?? null,
    externalId: options.externalId ?? null,
    ...rulesOf(options),
  };
}

/**
 * Defines a check of an agent's `done` list. `holds` returns true, or false, or a sentence that says what is missing. If
 * it does not hold, the model is told and goes on; the fourth time the run fails as `NotDone`.
 *
 * @example
 *   check("letter-sent", ({ calls }) => calls.some(({ outcome }) => outcome === "succeeded") || "send the letter");
 */
export function check<Task>(name: string, holds: Check<Task>["holds"]): Check<Task> {
  checkForms("a check", { name, holds }, { name: TEXT, holds: FUNCTION });
  refuse(holds === undefined, `check ${shown(name)} has no function: write check("NAME", ({ calls }) => ...)`);
  return { name, holds };
}

function refuse(wrong: boolean, message: string): void {
  if (wrong) throw new AgentInvalid(message);
}
