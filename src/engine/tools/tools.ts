/** The open calls of a run, and the tools that run them. */
import type { Agent, CallContext, Tool, UndoContext, ProbeContext, OfCall } from "../../ports/agent.ts";
import { type Json, copyOfJson } from "../../core/json.ts";
import type { Value } from "../../core/message.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import { asDeclared } from "../../core/calls/ledger.ts";
import { toolInputOf, parseWith } from "./parsed-args.ts";
import { builtInTool } from "./read-result.ts";

/** The open call with this ID. The caller knows that it is open. */
export function openCall(run: ActiveRun, call: string): OpenCall {
  return run.state.open.find((each) => each.call === call) as OpenCall;
}

/**
 * The tool that runs this call. For an undo it is the undo of the tool whose effect it undoes. Null if the agent has
 * none.
 */
export function toolFor(agent: Agent, { tool: name, undoes }: OpenCall): Tool | null {
  const tool = toolNamed(agent, name);
  return tool === null || undoes === undefined ? tool : undoOf(tool);
}

/**
 * The tool of that name, or null. Tool names come from models, so inherited properties such as `constructor` do not
 * count.
 */
export const toolNamed = ({ tools }: Agent, name: string): Tool | null =>
  (Object.hasOwn(tools, name) ? tools[name] : undefined) ?? builtInTool(name);

/** Why the arguments do not fit the tool's schema, with the path of each error. Null if they fit. */
export function misfit(tool: Tool, args: Json): string | null {
  const parsed = parseWith(tool, args);
  return parsed.ok ? null : parsed.why;
}

/** Large tasks that this process has loaded. The calls of a run do not load its task again. */
const largeTasks = new WeakMap<Value, Json>();

/** What the functions of a tool see of the run of their call. */
export async function callContextOf(run: ActiveRun): Promise<CallContext> {
  const { task, restart, firing } = run.state;
  const known = { run: run.row.run, task: await copyOfTask(run, task), restart };
  return firing === undefined ? known : { ...known, firing: { ...firing } };
}

/** A copy, because the function that gets it may change it. */
async function copyOfTask(run: ActiveRun, task: Value): Promise<Json> {
  if (task.kind === "inline") return run.json(task);
  const known = largeTasks.get(task) ?? (await run.json(task));
  largeTasks.set(task, known);
  return copyOfJson(known);
}

/** The timeout of one attempt, in milliseconds. */
export const timeoutOf = (run: ActiveRun, tool: Tool): number => tool.timeoutMs ?? run.world.limits.toolMs;

/** The tool in its role as the undo of its own effect. Null if it has none. */
function undoOf(tool: Tool): Tool | null {
  const { undo } = tool;
  if (undo === null) return null;
  const { effect, run, probe = null, timeoutMs = tool.timeoutMs } = undo;
  const { before: _, ...rest } = tool;
  return {
    ...rest,
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

/** Whether the tool can still continue a released call: run it again, or probe it. */
export async function canGoOn(
  run: ActiveRun,
  { open, tool }: { readonly open: OpenCall; readonly tool: Tool | null },
): Promise<boolean> {
  if (tool === null || (await toolInputOf(run, { open, tool })).kind === "misfit") return false;
  const { intent } = asDeclared(open, tool.effect);
  return intent === null || !EFFECTS[intent.effect].hasProbe || tool.probe !== null;
}

/** Why it is not known what a released call would send: its arguments are parsed to another value now. Null if it is. */
export async function whyChanged(
  run: ActiveRun,
  called: { readonly open: OpenCall; readonly tool: Tool },
): Promise<string | null> {
  const read = await toolInputOf(run, called);
  return read.kind === "changed" ? `${read.why}; it may have happened with the value before` : null;
}
