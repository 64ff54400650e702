/** The topologies of an agent, with those inside it: of its stages, its steps or its drafter. For the audit. */
import { topologyNamed } from "../features/topologies/core-table.ts";
import type { Topology } from "../ports/agent.ts";

/** A topology, and the tools that its sections may call; null: all tools of the agent. */
export interface InnerTopology {
  readonly topology: Topology;
  readonly tools: readonly string[] | null;
}

/** The topology itself first, then the inner ones. */
export const topologiesIn = (topology: Topology): readonly InnerTopology[] => [
  { topology, tools: null },
  ...innerOf(topology, null),
];

/** `tools`: what the options around these allow. Functions and modules are the user's own, and are not searched. */
function innerOf(options: object, tools: readonly string[] | null): readonly InnerTopology[] {
  const own = "tools" in options && Array.isArray(options.tools) ? (options.tools as readonly string[]) : tools;
  return Object.entries(options).flatMap(([name, option]: [string, unknown]): readonly InnerTopology[] => {
    if (typeof option !== "object" || option === null || name === "functions" || name === "module") return [];
    const isTopology = "kind" in option && topologyNamed(String(option.kind)) !== null;
    const found: readonly InnerTopology[] = isTopology ? [{ topology: option as Topology, tools: own }] : [];
    return found.concat(innerOf(option, own));
  });
}
