/** The function with which users declare that an agent dispatches child runs of another agent. */
import { DEFINITIONS } from "./definition-forms.ts";
import { checkDefined } from "./option-forms.ts";
import { firstIssue, parsedOption } from "./issues.ts";
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";
import { CHILD_EFFECT } from "../core/calls/effects.ts";
import { BOUNDS } from "../core/limits.ts";
import { isName } from "../core/ids.ts";
import { type Budget, type Grant, METERS, type Meter } from "../core/policy/budget.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { ChildRun, Tool } from "../ports/agent.ts";
import { type ApprovalOptions, approvalsOf } from "./approvals.ts";
import { wallMsSchema } from "./budget.ts";
import { rulesOf } from "./tool-rules.ts";

/** What one child may spend. It has to limit every meter that the budget of the parent limits, `beats` always. */
export interface ChildBudget {
  /** Dollars. */
  readonly usd?: number;
  /** Input and output together. */
  readonly tokens?: number;
  readonly beats: number;
  readonly toolCalls?: number;
  /** Working time: milliseconds, or `90s`, `30m`, `2h`. */
  readonly wall?: number | string;
}

export interface ChildToolOptions<Schema extends z.ZodType, Output extends z.ZodType> {
  /** The name of the agent of the child: an agent of the same deployment, or of `agents` in `cairn.config.ts`. */
  readonly agent: string;
  /** What the model reads about the tool. */
  readonly description: string;
  /** The arguments of the call. They are the task of the child, so its agent has to accept them as well. */
  readonly input: Schema;
  /**
   * The schema of the child's result. A result that does not fit is a failed hand-off: another child is dispatched if
   * this one did nothing outside. Otherwise the result goes back to the child, and after the last try the model is told
   * what it did.
   */
  readonly output?: Output;
  /** What one child may spend. It is reserved from the parent's budget until the child reports. */
  readonly budget: ChildBudget;
  /** Milliseconds until a child is too late; default one hour. */
  readonly deadlineMs?: number;
  /**
   * How many children one call may have, one after the other, where hand-offs fail: 1 to 3; default 2. Another child is
   * made only where the one before did nothing outside and cannot do so any more. A child that acted outside gives as
   * many answers.
   */
  readonly tries?: number;
  /**
   * False: the child works without a parent. The call succeeds with `{ run }` as soon as the child exists, and its
   * budget counts as spent. Default true.
   */
  readonly wait?: boolean;
  /** True: the result may repeat the task, as a proofreader's does. Default false: such a result is a lost hand-off. */
  readonly mayEcho?: boolean;
  /**
   * What follows when the model hands a task out again whose hand-off failed after its child had acted outside. `refuse`:
   * the model gets the list of what was done. `ask`: a human approves the call or denies it. Default `refuse`.
   */
  readonly afterEffects?: "refuse" | "ask";
  /** What a child did outside stands when a pipeline discards the stage of the call. Absent: a human is asked. */
  readonly onRollBack?: "keep";
  /** Whether a human approves a call before its child is dispatched. */
  readonly approval?: Tool<Schema>["approval"];
  /** How long its approvals wait for a human. Default: as its agent says. */
  readonly approvals?: ApprovalOptions;
}

const DEADLINE_MS = 3_600_000;
const DEADLINE_MS_MAX = 30 * 24 * 3_600_000;
const TRIES = 2;

const whole = builtOnUse(() => z.int().positive());

const budgetSchema = builtOnUse(() =>
  z.strictObject({
    usd: z.number().min(1e-6).max(1e9).optional(),
    tokens: whole().optional(),
    beats: whole(),
    toolCalls: whole().optional(),
    wall: wallMsSchema().optional(),
  }),
);

/**
 * Defines a tool whose calls dispatch child runs of another agent. The parent waits without cost until the child
 * reports, and gets its result as the result of the call. The child has a chain, checkpoints and a timeline of its own.
 * A crash of parent or child at any moment loses no child and makes none twice.
 *
 * ```ts
 * defineAgent({
 *   name: "editor",
 *   tools: {
 *     research: childTool({
 *       agent: "researcher",
 *       description: "Finds out one thing, and answers with a memo.",
 *       input: z.object({ question: z.string() }),
 *       output: z.object({ memo: z.string(), sources: z.array(z.string()) }),
 *       budget: { beats: 10, usd: 0.2 },
 *       deadlineMs: 10 * 60_000,
 *     }),
 *   },
 *   budget: { beats: 100, usd: 3 },
 *   // ...
 * });
 * ```
 *
 * @throws AgentInvalid with the first problem
 */
export function childTool<Schema extends z.ZodType, Output extends z.ZodType = z.ZodType>(
  options: ChildToolOptions<Schema, Output>,
): Tool<Schema> {
  checkDefined("a child tool", options, DEFINITIONS["a child tool"]);
  const { agent, description, input, output = null, deadlineMs = DEADLINE_MS, tries = TRIES, wait = true } = options;
  const { afterEffects = "refuse" } = options;
  if (afterEffects !== "refuse" && afterEffects !== "ask") {
    throw new AgentInvalid(`a child tool for agent ${String(agent)}: afterEffects is "refuse" or "ask"`);
  }
  if (options.onRollBack !== undefined && options.onRollBack !== "keep") {
    throw new AgentInvalid(`a child tool for agent ${String(agent)}: onRollBack is "keep", or absent`);
  }
  const budget = parsedOption(budgetSchema(), options.budget);
  if (!budget.success) {
    throw new AgentInvalid(`the budget of a child tool for agent ${String(agent)}: ${firstIssue(budget.error)}`);
  }
  return {
    description,
    input,
    output,
    effect: CHILD_EFFECT,
    probe: null,
    approval: options.approval ?? "never",
    ...approvalsOf("a child tool", options.approvals),
    timeoutMs: null,
    settleMs: null,
    externalId: null,
    ...rulesOf(options.onRollBack === undefined ? {} : { onRollBack: options.onRollBack }),
    // The engine dispatches a child instead.
    run: () => {
      throw new Error("a child tool has no function of its own");
    },
    child: {
      agent,
      grant: grantOf(budget.data),
      deadlineMs,
      tries,
      wait,
      ...(options.mayEcho === true ? { mayEcho: true } : {}),
      ...(options.afterEffects === "ask" ? { afterEffects: "ask" } : {}),
    },
  };
}

function grantOf({ usd, tokens, beats, toolCalls, wall }: z.output<ReturnType<typeof budgetSchema>>): Grant {
  return {
    beats,
    ...(usd === undefined ? {} : { microUsd: Math.round(usd * 1e6) }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
    ...(wall === undefined ? {} : { wallMs: wall }),
  };
}

const OPTIONS: { readonly [M in Meter]: string } = {
  beats: "beats",
  microUsd: "usd",
  tokens: "tokens",
  wallMs: "wall",
  toolCalls: "toolCalls",
};

/** Why an agent with this budget cannot have this child tool; null if it can. */
export function wrongWithChild({ agent, grant, deadlineMs, tries, wait }: ChildRun, budget: Budget): string | null {
  if (typeof agent !== "string" || !isName(agent)) {
    return `agent is ${JSON.stringify(agent)}: write the name of an agent, 1 to 64 letters, digits, - and _, of which the first is a letter`;
  }
  if (!(Number.isSafeInteger(deadlineMs) && deadlineMs > 0 && deadlineMs <= DEADLINE_MS_MAX)) {
    return `deadlineMs is ${deadlineMs}: write 1 to ${DEADLINE_MS_MAX} milliseconds`;
  }
  if (!(Number.isSafeInteger(tries) && tries >= 1 && tries <= BOUNDS.callTriesMax)) {
    return `tries is ${tries}: write 1 to ${BOUNDS.callTriesMax}`;
  }
  if (typeof wait !== "boolean") return "wait is true or false";
  for (const meter of METERS) {
    const [limit, most, name] = [budget[meter], grant[meter], OPTIONS[meter]];
    if (limit === null) continue;
    if (most === undefined) {
      return `its agent limits ${name}, and its children could spend any amount: write budget.${name} for them, too`;
    }
    if (most <= limit) continue;
    return meter === "beats"
      ? `one child takes more beats than its agent has: ${limit}, the least of budget.beats and maxBeats of its topology, which is 40 unless it says otherwise`
      : `one child takes more ${name} than the whole budget of its agent allows`;
  }
  return null;
}
