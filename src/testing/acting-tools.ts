/**
 * Which tools of an agent and its child agents act outside, and which of them nothing stands in for. The testing kit and
 * `cairn chaos` both decide by it whether a tool may run: a test or a trial acts on no real service without being asked.
 */
import { EFFECTS, type Effect, STRICTEST, isStricter } from "../core/calls/effects.ts";
import type { Agent, Tool, ToolSource } from "../ports/agent.ts";

/** A tool whose calls change something outside. Only such a tool has an undo. */
export interface ActingTool {
  /** How a test and a command line name it: `send`, `clerk.send` for a tool of a child agent, `files_*` for a server. */
  readonly name: string;
  /** The strictest class of its calls and its undo. What a server lists is unsafe, unless it says otherwise. */
  readonly effect: Effect;
  /** The server that lists it, in words; null for a tool that the agent declares. */
  readonly server: string | null;
}

/** The agent with the tools of one family, and its parents' names for them. */
export interface ActingFamily {
  readonly root: Pick<Agent, "name" | "tools" | "sources">;
  /** Agents of the same file or test. Those that the root never dispatches are left out. */
  readonly others: readonly Pick<Agent, "name" | "tools" | "sources">[];
}

/** Whether a call of the tool changes something outside. The effects of a child run are those of its agent's tools. */
export const acts = ({ effect, child }: Pick<Tool, "effect" | "child">): boolean =>
  child === undefined && EFFECTS[effect].actsOutside;

/** The agents that runs of the root may dispatch, the root first. */
export function familyOf({ root, others }: ActingFamily): readonly ActingFamily["root"][] {
  const family = new Map([[root.name, root]]);
  for (const { tools } of family.values()) {
    for (const { child } of Object.values(tools)) {
      const found = others.find(({ name }) => name === child?.agent);
      if (found !== undefined && !family.has(found.name)) family.set(found.name, found);
    }
  }
  return [...family.values()];
}

/** All tools of the family that act outside, those of the root first. */
export const actingTools = (family: ActingFamily): readonly ActingTool[] =>
  familyOf(family).flatMap((agent) => {
    const named = (tool: string): string => (agent.name === family.root.name ? tool : `${agent.name}.${tool}`);
    const own = Object.entries(agent.tools).flatMap(([tool, each]): ActingTool[] =>
      acts(each) ? [{ name: named(tool), effect: strictestOf(each), server: null }] : [],
    );
    const listed = (agent.sources ?? []).map(({ prefix, label }): ActingTool => ({
      name: named(`${prefix}*`),
      effect: STRICTEST,
      server: label,
    }));
    return own.concat(listed);
  });

/** The stricter class of the calls and of their undo. */
export function strictestOf({ effect, undo }: Pick<Tool, "effect" | "undo">): Effect {
  return undo !== null && undo !== undefined && isStricter(undo.effect, effect) ? undo.effect : effect;
}

/** A tool where it is: in which agent, and listed by which server. */
export interface ToolPlace {
  readonly root: string;
  readonly agent: string;
  readonly tool: string;
  readonly source: Pick<ToolSource, "prefix"> | null;
}

/** The names under which a test or a command line may mean the tool, the most exact one first. */
function namesFor({ root, agent, tool, source }: ToolPlace): readonly string[] {
  const names = source === null ? [tool] : [tool, `${source.prefix}*`];
  return names.flatMap((name) => (agent === root ? [name, `${agent}.${name}`] : [`${agent}.${name}`]));
}

/** What is given for the tool under one of its names; undefined if nothing is. */
export function givenFor<Given>(given: Readonly<Record<string, Given>>, place: ToolPlace): Given | undefined {
  const name = namesFor(place).find((each) => Object.hasOwn(given, each));
  return name === undefined ? undefined : given[name];
}

/** The tools of the family for which no name of `given` stands. A name of one listed tool does not cover its server. */
export function notGiven(family: ActingFamily, given: Iterable<string>): readonly ActingTool[] {
  const names = new Set([...given].map((name) => withoutRoot(family, name)));
  return actingTools(family).filter(({ name }) => !names.has(name));
}

/** Names that mean no tool of the family. A name with the prefix of a server may mean a tool that it lists. */
export function meaningless(family: ActingFamily, names: Iterable<string>): readonly string[] {
  const agents = familyOf(family);
  return [...names].filter((name) => {
    const [agent, tool] = split(family, name);
    const found = agents.find((each) => each.name === agent);
    if (found === undefined) return true;
    return !Object.hasOwn(found.tools, tool) && !(found.sources ?? []).some(({ prefix }) => tool.startsWith(prefix));
  });
}

const withoutRoot = ({ root }: ActingFamily, name: string): string =>
  name.startsWith(`${root.name}.`) ? name.slice(root.name.length + 1) : name;

/** The agent and the tool of `send` or `clerk.send`. */
function split({ root }: ActingFamily, name: string): readonly [agent: string, tool: string] {
  const dot = name.indexOf(".");
  return dot < 0 ? [root.name, name] : [name.slice(0, dot), name.slice(dot + 1)];
}
