/**
 * Puts the fake services of a test in the place of tools, in the agent and in its child agents. A tool that acts outside
 * and that nothing replaces is refused: an own tool before anything runs, one that a server lists when it is called.
 */
import type { Agent, Tool, ToolSource } from "../../ports/agent.ts";
import { type ActingFamily, acts, givenFor, meaningless, notGiven, strictestOf } from "../acting-tools.ts";
import { agentWithTools } from "../fault-points.ts";
import { EffectsNotReplaced } from "./effects-not-replaced.ts";
import type { FakeService } from "./fake-service.ts";

export interface StandingIn {
  /** The agent with fake services in place of its tools. */
  readonly replaced: (agent: Agent) => Agent;
  /** The tools of the root that act outside and are replaced, with the names of their services. */
  readonly services: Readonly<Record<string, string>>;
  /** The tools of the root that act outside by code of their own. */
  readonly own: readonly string[];
}

/** What a test gives in the place of tools (`RunAgentOptions`). */
interface Given {
  readonly tools?: Readonly<Record<string, FakeService>>;
  readonly otherTools?: (tool: string) => FakeService;
  readonly services?: readonly FakeService[];
  readonly agents?: readonly Agent[];
}

/**
 * @param onRefused called when a tool of a server would have acted outside; its call fails
 * @throws EffectsNotReplaced if own tools would act outside
 */
export function standingIn(root: Agent, given: Given, onRefused: (refused: EffectsNotReplaced) => void): StandingIn {
  const { tools = {}, otherTools, services = [], agents = [] } = given;
  const family: ActingFamily = { root, others: agents };
  const [unknown] = meaningless(family, Object.keys(tools));
  if (unknown !== undefined) throw new Error(`agent ${root.name} has no tool ${unknown} to replace`);
  const areAllowed = otherTools !== undefined || services.length > 0;
  const open = notGiven(family, Object.keys(tools)).filter(({ server }) => server === null);
  if (open.length > 0 && !areAllowed) throw new EffectsNotReplaced(root.name, open);

  const instead = (agent: Agent, tool: Tool, name: string, source: ToolSource | null): Tool => {
    const given = givenFor(tools, { root: root.name, agent: agent.name, tool: name, source }) ?? otherTools?.(name);
    if (given !== undefined) return toolAt(given as FakeService<unknown>, tool);
    if (areAllowed || !acts(tool)) return tool;
    const named = agent.name === root.name ? name : `${agent.name}.${name}`;
    const refused = new EffectsNotReplaced(root.name, [{ name: named, effect: strictestOf(tool) }]);
    return refusing(tool, () => {
      onRefused(refused);
      throw refused;
    });
  };
  const nameOf = (tool: string): string | undefined =>
    givenFor(tools, { root: root.name, agent: root.name, tool, source: null })?.name;
  const acting = Object.entries(root.tools).flatMap(([tool, each]) => (acts(each) ? [tool] : []));
  return {
    replaced: (agent) => agentWithTools(agent, (tool, name, source) => instead(agent, tool, name, source)),
    services: Object.fromEntries(
      acting.flatMap((tool) => {
        const name = nameOf(tool);
        return name === undefined ? [] : [[tool, name]];
      }),
    ),
    own: acting.filter((tool) => nameOf(tool) === undefined),
  };
}

/** The tool, none of whose functions reaches anything outside. */
function refusing({ before: _, undo, ...tool }: Tool, refuse: () => never): Tool {
  return {
    ...tool,
    run: refuse,
    probe: tool.probe && refuse,
    undo: undo && { ...undo, run: refuse, ...(undo.probe && { probe: refuse }) },
  };
}

/** The tool, none of whose functions reaches anything but the service. So it has no before-image. */
function toolAt(service: FakeService<unknown>, { before: _, undo, ...tool }: Tool): Tool {
  const remains = (key: string): boolean => service.effects.some((effect) => effect.key === key && !effect.undone);
  return {
    ...tool,
    run: service.call,
    probe: tool.probe && service.probe,
    undo: undo && {
      ...undo,
      run: service.undo,
      ...(undo.probe && {
        probe: ({ of }) => (remains(of.key) ? { kind: "absent" } : { kind: "happened", result: null }),
      }),
    },
  };
}
