/**
 * Adds the tools that the servers of an agent list (`ToolSource`). A server that cannot be asked makes the agent
 * absent, so its run waits as in an outage, and nothing is lost.
 *
 * The servers are asked before each step, and answer from memory while nothing has changed. A tool that vanished is not
 * in the list: a model that calls it is told which tools there are.
 */
import * as z from "zod";
import { SIZES } from "../../codec/limits.ts";
import { sentenceOf } from "../../codec/value.ts";
import { STRICTEST } from "../../core/calls/effects.ts";
import { READ_RESULT } from "../../core/calls/stored-values.ts";
import type { LeftOutTool } from "../../core/left-out.ts";
import type { OpenCall } from "../../core/state.ts";
import { secretsFor } from "../../history/secrets.ts";
import type { Agent, Tool, ToolSource } from "../../ports/agent.ts";
import type { World } from "../../ports/world.ts";
import type { AgentAbsent, LoadedAgent } from "./runner.ts";

type Lists = readonly List[];

/** The agent with the last lists of its servers. What is known of an agent object, such as digests, stays valid. */
const merged = new WeakMap<Agent, { readonly lists: Lists; readonly agent: Agent }>();

type List = Readonly<Record<string, Tool>>;

/** Asks a server for its tools, and waits no longer than the beat has. `ms`: how long that is. Never rejects. */
export type ListInTime = (source: ToolSource, list: (ms: number) => Promise<List>) => Promise<SaidInTime<List>>;

/** `mayBeOld`: calls are released already, so an old list serves where a server does not answer. */
export async function withSources(
  world: Pick<World, "secrets" | "clock">,
  found: LoadedAgent | AgentAbsent,
  { mayBeOld, ask }: { readonly mayBeOld: boolean; readonly ask: ListInTime },
): Promise<LoadedAgent | AgentAbsent> {
  if (found.kind === "absent") return found;
  const { sources = [] } = found.agent;
  if (sources.length === 0) return found;
  const secrets = secretsFor(world, found.agent);
  const now = world.clock.now();
  const said = await Promise.all(
    sources.map((source) => ask(source, (ms) => source.list({ secrets, mayBeOld, now, ms }))),
  );
  const isLate = said.some(({ kind }) => kind === "late");
  const failed = said.flatMap((each, index) =>
    each.kind === "said" ? [] : [each.kind === "late" ? `${sources[index]?.label} gave ${each.why}` : each.why],
  );
  if (failed.length > 0) return unknownTools(failed.join("; "), isLate);
  try {
    return {
      ...found,
      agent: agentWith(
        found.agent,
        said.flatMap((each) => (each.kind === "said" ? [each.value] : [])),
      ),
    };
  } catch (error) {
    return unknownTools(sentenceOf(error), false);
  }
}

const unknownTools = (why: string, isLate: boolean): AgentAbsent => ({
  kind: "absent",
  why: `the tools of its servers are not known: ${why}`,
  ...(isLate && { isLate }),
});

function agentWith(agent: Agent, lists: Lists): Agent {
  const known = merged.get(agent);
  if (known?.lists.every((list, at) => list === lists[at]) === true) return known.agent;
  const tools = toolsWith(agent.tools, lists);
  const count = Object.keys(tools).length;
  if (count > SIZES.toolsMax) {
    throw new Error(
      `they and the agent have ${count} tools, ${SIZES.toolsMax} are allowed: name the needed ones in only`,
    );
  }
  const leftOut = leftOutOf(agent, lists);
  const full = { ...agent, tools, ...(leftOut.length > 0 && { leftOut }) };
  merged.set(agent, { lists, agent: full });
  return full;
}

/** Those that a source leaves out, and those whose name another tool has. */
export function leftOutOf({ tools, sources = [] }: Agent, lists: Lists): readonly LeftOutTool[] {
  const owners = new Map(Object.keys(tools).map((name) => [name, "the agent itself"]));
  return sources.flatMap(({ label, leftOut }, at) => {
    const taken = Object.keys(lists[at] ?? {}).flatMap((tool): LeftOutTool[] => {
      const owner = owners.get(tool);
      if (owner === undefined) owners.set(tool, label);
      return owner === undefined
        ? []
        : [{ tool, source: label, why: `${owner} has a tool of that name: set another prefix` }];
    });
    return [...(leftOut?.() ?? []).map(({ tool, why }) => ({ tool, why, source: label })), ...taken];
  });
}

/** The agent's own tools come first, and win over a listed one of the same name. */
export function toolsWith(own: Agent["tools"], lists: Lists): Agent["tools"] {
  const all = [own, ...lists].flatMap((list) => Object.entries(list));
  const first = new Map<string, Tool>();
  for (const [name, tool] of all) if (!first.has(name)) first.set(name, tool);
  return Object.fromEntries(first);
}

/**
 * The agent for calls that are released. A worker dies in a call, and when the run is recovered the server no longer has
 * the tool, or has it with another schema. Without this the run would wait for the tool until it expires. So a call
 * without its tool fails, and the model is told. The arguments were checked before the release, and are not checked again.
 * An unsafe call still needs an operator, because its first attempt may have happened.
 */
export function withReleasedTools(agent: Agent, open: readonly OpenCall[]): Agent {
  const { sources = [], tools } = agent;
  const asReleased = open.flatMap((call): [string, Tool][] => {
    const source = sources.find(({ prefix }) => call.tool.startsWith(prefix));
    const tool = Object.hasOwn(tools, call.tool) ? tools[call.tool] : undefined;
    // cairn's own tool is no tool of a server, also if the prefix of a server is `cairn_`.
    if (source === undefined || call.tool === READ_RESULT) return [];
    if (tool === undefined) return [[call.tool, goneTool(call, source)]];
    return tool.isListed === true ? [[call.tool, { ...tool, input: z.json() }]] : [];
  });
  return asReleased.length === 0 ? agent : { ...agent, tools: { ...tools, ...Object.fromEntries(asReleased) } };
}

const goneTool = ({ tool, intent }: OpenCall, { label }: ToolSource): Tool => ({
  description: "",
  input: z.json(),
  output: null,
  effect: intent?.effect ?? STRICTEST,
  probe: null,
  approval: "never",
  timeoutMs: null,
  settleMs: null,
  externalId: null,
  key: null,
  onExists: null,
  onUnknown: null,
  parallel: true,
  retry: null,
  claims: null,
  undo: null,
  redact: null,
  run: () => {
    throw new Error(`ToolGone: ${label} no longer has the tool ${tool}; nothing was started`);
  },
});

/** What came of asking code that is not cairn's (`tools/ask-in-time.ts`). `late`: no answer in time; it may still run. */
export type SaidInTime<T> =
  | { readonly kind: "said"; readonly value: T }
  | { readonly kind: "threw"; readonly why: string; readonly error: unknown }
  | { readonly kind: "late"; readonly why: string };
