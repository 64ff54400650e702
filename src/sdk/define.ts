/**
 * What a user writes: an agent, its tools, its definition of done. Everything here is checked when the agent is
 * defined, so that a run never starts with an agent that cannot end well.
 */

import * as z from "zod";
import { EFFECTS } from "../core/calls/effects.ts";
import type { Dial } from "../core/policy/dial.ts";
import { isName } from "../core/ids.ts";
import type { Json } from "../core/json.ts";
import { SIZES } from "../codec/limits.ts";
import type { Price } from "../core/policy/price.ts";
import type { UpgradePolicy } from "../core/state.ts";
import { type Topology, react } from "../core/topologies/react.ts";
import { type BudgetOptions, budgetFrom, budgetSchema } from "./budget.ts";
import { type ContextOptions, contextSchema } from "./context.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { type OutageOptions, outagePolicyOf } from "./outage.ts";
import { parseSchedule } from "./schedule/firing-times.ts";
import { PRICE, listPriceOf } from "./prices.ts";
import type {
  Check,
  Priced,
  Schedule,
  ToolRules,
  Agent,
  Tool,
  ModelChoice,
  ToolContext,
  ProbeContext,
  RunView,
  Probe,
  LoopPolicy,
} from "../ports/agent.ts";
import { type RetentionOptions, retentionOf } from "./retention.ts";
import type { ScheduleOptions } from "./schedule/schedule.ts";
import { type SagaOptions, sagaOf } from "./saga.ts";
import { secretNames } from "./secrets.ts";
import { rulesOf, wrongWithEffect, wrongWithRules } from "./tool-rules.ts";

/** A tool of any schema: the runner parses with the schema and hands over what came out. */
type AnyTool = Omit<Tool, "run" | "probe" | "approval" | "key" | "undo"> & {
  readonly run: (context: ToolContext<never>) => unknown;
  readonly probe: ((context: ProbeContext<never>) => Probe | Promise<Probe>) | null;
  readonly approval: "never" | "always" | ((input: never) => string | false);
  readonly key: ToolRules<never>["key"];
  readonly undo: ToolRules<never>["undo"];
};

type ToolOptions<Schema extends z.ZodType, Output extends z.ZodType> = Pick<Tool<Schema>, "input" | "effect"> &
  Partial<Pick<Tool<Schema>, "description" | "probe" | "approval" | "timeoutMs" | "settleMs" | "externalId">> &
  Partial<ToolRules<z.output<Schema>>> & {
    readonly output?: Output | null;
    readonly run: (context: ToolContext<z.output<Schema>>) => z.input<Output> | Promise<z.input<Output>>;
  };

interface AgentOptions<Task extends z.ZodType> extends OutageOptions {
  readonly name: string;
  readonly version: string;
  readonly model: ModelChoice;
  readonly instructions: string;
  readonly task: Task;
  readonly tools: Readonly<Record<string, AnyTool>>;
  readonly done?: readonly Check<z.output<Task>>[];
  /** Without it a run results in the model's last words. */
  readonly result?: (view: RunView<z.output<Task>>) => Json;
  readonly topology?: Topology;
  /**
   * `follow`: a run goes on with whatever version of its agent is deployed. `pin`: it waits until somebody accepts
   * another version for it (`resume RUN --upgrade`). A run keeps what its agent said when it was started.
   */
  readonly upgrade?: UpgradePolicy;
  readonly budget?: BudgetOptions;
  /** Dollars per million tokens; without it that of `cairn.config.ts` or `prices.ts`, and where these have none no money is counted. */
  readonly price?: Price;
  /** `ignore` for an agent that asks the same again and again until something changes. Without it such a run is stopped. */
  readonly loops?: LoopPolicy;
  /** `auto`: a cheap reply that asks only for tools without an effect is not committed before these have run. */
  readonly dial?: Dial;
  /** Gives up a run that has waited for one reply of its model for so many milliseconds; without it the call times out. */
  readonly hardIdleMs?: number;
  readonly context?: ContextOptions;
  /** Starts a run of its own at times that an expression names. */
  readonly schedule?: ScheduleOptions<z.input<Task>>;
  /**
   * How many days an ended run is kept (an hour, 1 / 24, to 90; without it the world's 24 hours), and whether an archive
   * stays after that: `warm` for 90 days, `cold` for seven years. It holds for runs that are started from now on.
   */
  readonly retention?: RetentionOptions;
  /** Without it what can be undone is undone when a run fails, and then the run ends. */
  readonly saga?: SagaOptions;
  /** Names of what its tools may ask for, such as `AIRLINE_TOKEN`; no value is ever written. */
  readonly secrets?: readonly string[];
}

export function defineAgent<Task extends z.ZodType>(options: AgentOptions<Task>): Agent<Task> {
  const { name, tools, topology = react({ maxBeats: 40 }) } = options;
  refuse(
    typeof name !== "string" || !isName(name),
    `an agent's name is 1 to 64 letters, digits, - and _, and not ${JSON.stringify(name)}`,
  );
  refuse(typeof options.version !== "string" || options.version === "", `agent ${name} has no version`);
  refuse(Object.keys(tools).length > SIZES.toolsMax, `agent ${name} has more than ${SIZES.toolsMax} tools`);
  for (const tool of Object.keys(tools)) {
    refuse(!isName(tool), `a tool's name is 1 to 64 letters, digits, - and _, and not ${JSON.stringify(tool)}`);
  }
  for (const [tool, declared] of Object.entries(tools)) {
    const { effect, probe } = declared;
    const wrongEffect = wrongWithEffect(effect, declared);
    refuse(wrongEffect !== null, `tool ${tool} of agent ${name}: ${wrongEffect}`);
    const wrong = EFFECTS[effect].hasProbe !== (probe !== null && probe !== undefined);
    refuse(wrong, `tool ${tool} of agent ${name}: a probed tool has a probe, and no other tool has one`);
    const wrongRule = wrongWithRules(effect, declared);
    refuse(wrongRule !== null, `tool ${tool} of agent ${name}: ${wrongRule}`);
  }
  const budget = budgetSchema.safeParse(options.budget ?? {});
  refuse(!budget.success, `the budget of agent ${name}: ${firstIssue(budget.error)}`);
  const secrets = secretNames.safeParse(options.secrets ?? []);
  refuse(!secrets.success, `the secrets of agent ${name}: ${firstIssue(secrets.error)}`);
  const { maxBeats } = topology;
  refuse(
    !(Number.isSafeInteger(maxBeats) && maxBeats > 0),
    `agent ${name} has maxBeats ${maxBeats}: write a whole number`,
  );
  const { upgrade = "follow" } = options;
  refuse(upgrade !== "follow" && upgrade !== "pin", `agent ${name} has upgrade ${upgrade}: write "follow" or "pin"`);
  const { loops = "stop", dial = "always", hardIdleMs = null } = options;
  refuse(dial !== "auto" && dial !== "always", `agent ${name} has dial ${String(dial)}: write "auto" or "always"`);
  refuse(loops !== "stop" && loops !== "ignore", `agent ${name} has loops ${String(loops)}: write "stop" or "ignore"`);
  refuse(
    hardIdleMs !== null && !(Number.isSafeInteger(hardIdleMs) && hardIdleMs > 0),
    `agent ${name} has hardIdleMs ${hardIdleMs}: write a positive whole number of milliseconds`,
  );
  const saga = sagaOf(options.saga);
  if (typeof saga === "string") throw new AgentInvalid(`the saga of agent ${name}: ${saga}`);
  const context = contextSchema.safeParse(options.context ?? {});
  refuse(!context.success, `the context of agent ${name}: ${firstIssue(context.error)}`);
  const retention = retentionOf(options.retention);
  if (typeof retention === "string") throw new AgentInvalid(`the retention of agent ${name}: ${retention}`);
  return {
    name,
    version: options.version,
    model: options.model,
    instructions: options.instructions,
    task: options.task,
    tools: tools as Readonly<Record<string, Tool>>,
    done: options.done ?? [],
    result: options.result ?? (({ text }) => text),
    topology,
    upgrade,
    budget: budgetFrom(budget.data ?? {}, maxBeats),
    ...priceOf(options),
    loops,
    dial,
    hardIdleMs,
    ...outagePolicyOf(name, options),
    contextTokensMax: context.data?.tokensMax ?? null,
    schedule: scheduleOf(options),
    retention,
    saga,
    secrets: secrets.data ?? [],
  };
}

function priceOf({ name, price, model }: Pick<AgentOptions<z.ZodType>, "name" | "price" | "model">): Priced {
  if (price === undefined) return listPriceOf(model);
  const parsed = z.strictObject(PRICE).safeParse(price);
  refuse(!parsed.success, `the price of agent ${name}: ${firstIssue(parsed.error)}`);
  return { price, priceFrom: { kind: "agent" } };
}

function scheduleOf<Task extends z.ZodType>({ name, schedule, task }: AgentOptions<Task>): Schedule | null {
  const parsed = schedule === undefined ? null : parseSchedule(schedule, task);
  if (typeof parsed === "string") throw new AgentInvalid(`the schedule of agent ${name}: ${parsed}`);
  return parsed;
}

export function tool<Schema extends z.ZodType, Output extends z.ZodType = z.ZodType>(
  options: ToolOptions<Schema, Output>,
): Tool<Schema> {
  return {
    description: options.description ?? "",
    input: options.input,
    output: options.output ?? null,
    effect: options.effect,
    run: options.run,
    probe: options.probe ?? null,
    approval: options.approval ?? "never",
    timeoutMs: options.timeoutMs ?? null,
    settleMs: options.settleMs ?? null,
    externalId: options.externalId ?? null,
    ...rulesOf(options),
  };
}

export const check = <Task>(name: string, holds: Check<Task>["holds"]): Check<Task> => ({ name, holds });

const firstIssue = (error: z.ZodError | undefined): string =>
  error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`)[0] ?? "";

function refuse(wrong: boolean, message: string): void {
  if (wrong) throw new AgentInvalid(message);
}
