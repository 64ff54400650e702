/** Describes the agents that may be started: what their task is, which tools they have, and when they start themselves. */
import * as z from "zod";
import type { Effect } from "../core/calls/effects.ts";
import type { Json } from "../core/json.ts";
import type { Agent } from "../ports/agent.ts";
import type { World } from "../ports/world.ts";

/** The agents of a deployment or a project. */
export interface AgentCatalogue {
  readonly agents: readonly Agent[];
  /** Why agent files cannot be loaded, one sentence each. */
  readonly broken: readonly string[];
}

export interface DescribedAgent {
  readonly name: string;
  readonly version: string;
  readonly topology: string;
  /** The JSON schema of its task. */
  readonly task: Json;
  readonly tools: readonly { readonly tool: string; readonly effect: Effect }[];
  readonly schedule: { readonly every: string; readonly timezone: string } | null;
  /** The name of its memory, which its tools may use also where its runs recall and learn nothing. */
  readonly memory: string;
}

export interface AgentList {
  readonly kind: "listed";
  readonly agents: readonly DescribedAgent[];
  readonly broken: AgentCatalogue["broken"];
}

/** Lists the agents in the order of their names. */
export function listAgents({ agents, broken }: AgentCatalogue): AgentList {
  const named = new Map(agents.map((agent) => [agent.name, agent]));
  const inOrder = [...named.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return { kind: "listed", agents: inOrder.map(described), broken };
}

function described({ name, version, topology, task, tools, schedule, memory }: Agent): DescribedAgent {
  return {
    name,
    version,
    topology: topology.kind,
    task: z.toJSONSchema(task, { unrepresentable: "any", io: "input" }) as Json,
    tools: Object.entries(tools).map(([tool, { effect }]) => ({ tool, effect })),
    schedule: schedule === null ? null : { every: schedule.every, timezone: schedule.timezone },
    memory: memory?.scope ?? name,
  };
}

/** The code of the agent of a run; null if there is no such run, or no such agent. */
export async function agentOfRun(
  { world, agentOf }: { readonly world: World; readonly agentOf: (name: string) => Promise<Agent | null> },
  run: string,
): Promise<Agent | null> {
  const row = await world.table.read(run, world.clock.now());
  return row === null ? null : agentOf(row.agent);
}
