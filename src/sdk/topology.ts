/**
 * The topology of an agent, its checkpoints and the models of its roles, validated. A topology that the engine does not
 * know, or that names a function, model or tool that the agent lacks, is refused before a run could meet it.
 */
import { MODEL } from "./definition-forms.ts";
import { shown } from "./option-forms.ts";
import * as z from "zod";
import { problemOfWhole } from "../core/topologies/problems.ts";
import { TOPOLOGY_NAMES, topologyNamed } from "../features/topologies/core-table.ts";
import type { TopologyModule } from "../core/topologies/topology.ts";
import type { Price } from "../core/policy/price.ts";
import type { Agent, CheckpointEvery, Fallback, ModelChoice, Topology } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { priceFields, listPriceOf } from "./prices.ts";

/** A model with what it charges in dollars per million tokens. Default: from `cairn.config.ts`, then `prices.ts`. */
export interface ModelWithPrice {
  readonly model: ModelChoice;
  readonly price?: Price;
}

export interface TopologyOptions {
  /** How model calls follow each other; default: `react({ maxBeats: 40 })`. */
  readonly topology?: Topology;
  /** Further models by name, for the roles of the topology: an independent judge, a cheap critic. */
  readonly models?: Readonly<Record<string, ModelChoice | ModelWithPrice>>;
  /**
   * How many beats an invocation may make before it stores a snapshot and releases the run. `unit`: until the stage,
   * step or round is complete. Default: `beatsPerInvocation` of the deployment. What a beat did is durable in any case.
   */
  readonly checkpoint?: CheckpointEvery;
}

/** Throws `AgentInvalid` if the topology is unknown, or its options do not fit the agent. */
export function checkTopology(name: string, agent: Pick<Agent, "topology" | "models" | "tools" | "sources">): void {
  const { topology, models = {}, tools, sources = [] } = agent;
  const module = moduleOf(topology);
  const names = TOPOLOGY_NAMES.map((each) => `${camel(each)}({ ... })`).join(", ");
  if (module === null) {
    const isNone = typeof topology !== "object" || topology === null || !("kind" in topology);
    const kind = isNone ? shown(topology) : JSON.stringify(topology.kind);
    throw new AgentInvalid(`agent ${name} has the unknown topology ${kind}: write topology: ${names}`);
  }
  const refuse = (why: string): never => {
    throw new AgentInvalid(`the topology ${module.kind} of agent ${name}: ${why}`);
  };
  const problems = [...problemOfWhole("maxBeats", topology.maxBeats, 1), ...module.problems(topology)];
  for (const problem of problems) refuse(problem);
  const uses = module.uses(topology);
  const known = { functions: topology.functions ?? {}, models, tools };
  for (const what of ["functions", "models", "tools"] as const) {
    for (const each of uses[what] ?? []) {
      // Which tools a server has is known when a run asks it.
      const mayBeListed = what === "tools" && sources.some(({ prefix }) => each.startsWith(prefix));
      if (!Object.hasOwn(known[what], each) && !mayBeListed) {
        refuse(`it names ${each}, and the agent has no such ${what.slice(0, -1)}`);
      }
    }
  }
  for (const each of uses.workers ?? []) {
    const wrong = wrongWithWorker(tools[each]);
    if (wrong !== null) refuse(`its worker ${each} ${wrong}`);
  }
}

/** Why a boss cannot hand out work by this tool; null if it can. Without a schema no lost hand-off is seen. */
function wrongWithWorker(tool: Agent["tools"][string] | undefined): string | null {
  const { child, output } = tool ?? {};
  if (child === undefined) return "is no child tool: write childTool({ ... })";
  if (!child.wait) return "is left alone, and a boss waits for its workers: leave out wait: false";
  return (output ?? null) === null ? "has no output: write the zod schema of its memo" : null;
}

/** The constructor of a topology: `plan-execute` becomes `planExecute`. */
const camel = (name: string): string => name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The module of a topology: its own, or the one of cairn's table. Null if there is none. */
const moduleOf = (topology: Topology): TopologyModule | null => {
  const { kind, module } = (topology ?? {}) as Partial<Topology>;
  return module ?? topologyNamed(String(kind));
};

/** The models of roles with their prices. Throws `AgentInvalid`. */
export function roleModels(name: string, models: TopologyOptions["models"] = {}): Readonly<Record<string, Fallback>> {
  const priced = Object.entries(models).map(([role, choice]): readonly [string, Fallback] => {
    const { model, price } = isChoice(choice) ? { model: choice } : choice;
    if (!MODEL.holds(model)) {
      throw new AgentInvalid(`agent ${name} has models.${role} ${shown(model ?? choice)}: write ${MODEL.says}`);
    }
    if (price === undefined) return [role, { model, ...listPriceOf(model) }];
    const parsed = z.strictObject(priceFields()).safeParse(price);
    if (!parsed.success) throw new AgentInvalid(`the price of model ${role} of agent ${name}: ${parsed.error.message}`);
    return [role, { model, price, priceFrom: { kind: "agent" } }];
  });
  return Object.fromEntries(priced);
}

const isChoice = (choice: ModelChoice | { readonly model: ModelChoice }): choice is ModelChoice =>
  typeof choice !== "object" || choice === null || "doGenerate" in choice;

/** Throws `AgentInvalid` for anything but a number of beats or `unit`. */
export function checkpointOf(name: string, checkpoint: CheckpointEvery | undefined): Pick<Agent, "checkpoint"> {
  if (checkpoint === undefined) return {};
  const isCount = Number.isSafeInteger(checkpoint) && Number(checkpoint) >= 1 && Number(checkpoint) <= 1_000;
  if (checkpoint === "unit" || isCount) return { checkpoint };
  throw new AgentInvalid(
    `agent ${name} has checkpoint ${String(checkpoint)}: write a number of beats from 1 to 1000, or "unit"`,
  );
}
