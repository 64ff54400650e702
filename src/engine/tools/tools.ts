/** The open calls of a run, and the tools that make them. */
import type { Agent, Tool, UndoContext, ProbeContext, OfCall } from "../../ports/agent.ts";
import { sentenceOf } from "../../codec/value.ts";
import type { Json } from "../../core/json.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import { argsOf, asDeclared } from "../../core/calls/ledger.ts";

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

/** The tool as it is called to undo what it did. */
function undoOf(tool: Tool): Tool | null {
  const { undo } = tool;
  if (undo === null) return null;
  const { effect, run, probe = null, timeoutMs = tool.timeoutMs } = undo;
  return {
    ...tool,
    effect,
    timeoutMs,
    approval: "never",
    output: null,
    key: null,
    onExists: null,
    onUnknown: "ask",
    externalId: null,
    parallel: true,
    undo: null,
    retry: null,
    claims: null,
    run: (context) => run(context as UndoContext<unknown>),
    probe: probe && ((context) => probe(context as ProbeContext<unknown> & OfCall)),
  };
}

/** Whether that tool could still do its part for a call that was released: run it again, or be asked about it. */
export async function canGoOn(
  run: ActiveRun,
  of: { readonly open: OpenCall; readonly tool: Tool | null },
): Promise<boolean> {
  const { open, tool } = of;
  if (tool === null || misfit(tool, await run.json(argsOf(run.state, open.call))) !== null) return false;
  const { intent } = asDeclared(open, tool.effect);
  return intent === null || !EFFECTS[intent.effect].hasProbe || tool.probe !== null;
}
