/**
 * Checks an agent before it runs, against the limits of the world where it will run. Otherwise a run could find out
 * after an hour that a tool can never be started.
 */
import type { Limits } from "../protocol/limits.ts";
import type { Agent, Tool, ToolSource } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { modelsOf } from "../providers/model.ts";
import { checkTopology } from "./topology.ts";
import { describeTools, isZod, mendSchema } from "../engine/model/tool-schema.ts";

/** The checked part of an agent, independent of its task type. */
type Checked = Pick<
  Agent,
  "name" | "task" | "model" | "tools" | "sources" | "budget" | "priceFrom" | "fallbacks" | "models" | "topology"
>;

/** Throws `AgentInvalid` with the first problem. `isFunction`: it runs in a function on Lambda. */
export function checkAgent(agent: Checked, limits: Limits, { isFunction = false } = {}): void {
  // An agent that another copy of cairn defined may have a topology that this one does not know.
  checkTopology(agent.name, agent);
  try {
    if (!isZod(agent.task)) throw new AgentInvalid(`its task is not a zod 4 schema: ${mendSchema(agent.task, "task")}`);
    modelsOf(agent);
    checkMoney(agent);
    describeTools(agent.tools);
    for (const [name, tool] of Object.entries(agent.tools)) {
      checkTimes(name, tool, limits);
      checkOutput(name, tool);
    }
    for (const source of agent.sources ?? []) {
      if (isFunction) refuseProcess(source);
      checkTimes(`of ${source.label}`, { timeoutMs: source.timeoutMs, settleMs: null }, limits);
      checkConnect(source, limits);
    }
  } catch (error) {
    if (!(error instanceof AgentInvalid)) throw error;
    throw new AgentInvalid(`agent ${agent.name}: ${error.message}`, { cause: error });
  }
}

/**
 * Throws `AgentInvalid` if an agent has a budget of money but a model without a price: such a budget would never be
 * used up. Call it after the prices of the config are applied.
 */
export function checkMoney({
  budget,
  priceFrom,
  fallbacks,
  models = {},
}: Pick<Agent, "budget" | "priceFrom" | "fallbacks" | "models">): void {
  if (budget.microUsd === null) return;
  const all = [
    ["its model is", priceFrom] as const,
    ...fallbacks.map((each, index) => [`the model of fallback ${index + 1} is`, each.priceFrom] as const),
    ...Object.entries(models).map(([name, each]) => [`its model ${name} is`, each.priceFrom] as const),
  ];
  const which = all.find(([, from]) => from.kind === "none")?.[0];
  if (which === undefined) return;
  throw new AgentInvalid(
    `it has a budget of money and no price, and ${which} in no price list: write price: { inUsd, outUsd } per million ` +
      "tokens, or prices: { MODEL: { inUsd, outUsd } } in cairn.config.ts",
  );
}

/** Why the child tools of an agent name none of these agents, which are all there are; null: each names one. */
export function wrongWithChildren({ tools }: Pick<Agent, "tools">, known: readonly string[]): string | null {
  for (const [tool, { child }] of Object.entries(tools)) {
    if (child === undefined || known.includes(child.agent)) continue;
    const names = [...known].toSorted().join(", ");
    return `child tool ${tool} dispatches runs of agent ${child.agent}, which does not exist; the agents are: ${names}`;
  }
  return null;
}

/** Throws `AgentInvalid` for a server that would be a process beside the function. */
export function refuseProcess({ label, startsProcess }: ToolSource, agent = ""): void {
  if (!startsProcess) return;
  throw new AgentInvalid(
    `${agent}${label} is a process over stdio, and Lambda freezes or ends a function together with its processes after each ` +
      "beat: run the server elsewhere and write its url in place of command, or run the agent with cairn work",
  );
}

/** `output` may be absent: an agent may come from another version of cairn. */
function checkOutput(name: string, { output = null }: Partial<Pick<Tool, "output">>): void {
  if (output !== null && !isZod(output)) {
    throw new AgentInvalid(`the output of tool ${name} is not a zod 4 schema: ${mendSchema(output, "output")}`);
  }
}

/** How long a beat has for its calls: it needs time before them to claim, load and commit, and after them to commit. */
const mostOf = ({ beatMs, drainMs }: Limits): number => beatMs - 3 * drainMs;

/** Every beat waits for the list of the server. One that may take longer than the beat could not be waited for. */
function checkConnect({ label, connectMs }: ToolSource, limits: Limits): void {
  const most = mostOf(limits);
  if (connectMs === undefined || connectMs <= most) return;
  throw new AgentInvalid(
    `${label} has connectMs ${connectMs}, but a beat lasts ${limits.beatMs} ms and has ${most} ms of them to connect and to ` +
      `list its tools: set connectMs to ${most} at most, or raise beatSeconds in cairn.config.ts`,
  );
}

function checkTimes(name: string, { timeoutMs, settleMs }: Pick<Tool, "timeoutMs" | "settleMs">, limits: Limits): void {
  const { beatMs, drainMs } = limits;
  if (timeoutMs !== null && !(Number.isSafeInteger(timeoutMs) && timeoutMs > 0)) {
    throw new AgentInvalid(`tool ${name} has timeoutMs ${timeoutMs}: write a positive whole number of milliseconds`);
  }
  if (settleMs !== null && !(Number.isSafeInteger(settleMs) && settleMs >= 0)) {
    throw new AgentInvalid(`tool ${name} has settleMs ${settleMs}: write a whole number of milliseconds, 0 or more`);
  }
  const most = mostOf(limits);
  if (timeoutMs !== null && timeoutMs > most) {
    throw new AgentInvalid(
      `tool ${name} may take ${timeoutMs} ms, but a beat lasts ${beatMs} ms and needs ${3 * drainMs} ms of them ` +
        `before and after its calls, so the call could never be started: set its timeoutMs to ${most} at most, ` +
        "or raise beatSeconds in cairn.config.ts",
    );
  }
}
