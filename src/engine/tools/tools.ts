/** The open calls of a run, and the tools that make them. */
import type { Agent, Tool } from "../../sdk/define.ts";
import { undoOf } from "../../sdk/saga.ts";
import { sentenceOf } from "../../codec/value.ts";
import type { Json } from "../../core/json.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";

export function openCall(run: ActiveRun, call: string): OpenCall {
  return run.state.open.find((each) => each.call === call) as OpenCall;
}

/** The tool that makes this call: one that undoes is the undo of the tool whose effect it undoes. */
export function toolFor(agent: Agent, { tool: name, undoes }: OpenCall): Tool | null {
  const tool = toolNamed(agent, name);
  return tool === null || undoes === undefined ? tool : undoOf(tool);
}

/** Null also for what every object has by birth, such as `constructor`: names come from models. */
export const toolNamed = ({ tools }: Agent, name: string): Tool | null =>
  (Object.hasOwn(tools, name) ? tools[name] : undefined) ?? null;

/** Why the arguments do not fit the tool's schema, with the path of what is wrong; null when they do. */
export function misfit(tool: Tool, args: Json): string | null {
  try {
    const parsed = tool.input.safeParse(args);
    if (parsed.success) return null;
    return parsed.error.issues.map(({ path, message }) => `${path.join(".") || "arguments"}: ${message}`).join("; ");
  } catch (error) {
    return sentenceOf(error);
  }
}

export const timeoutOf = (run: ActiveRun, tool: Tool): number => tool.timeoutMs ?? run.world.limits.toolMs;
