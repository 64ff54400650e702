/** The table of topologies. A new one is a module and one line here; a user's own comes with its agent (`module`). */
import { DEBATE } from "./debate/core.ts";
import { HIERARCHICAL } from "./hierarchical/core.ts";
import { nesting } from "../../core/topologies/nested.ts";
import { ORCHESTRATOR } from "./orchestrator/core.ts";
import { PIPELINE } from "./pipeline/core.ts";
import { PLAN_EXECUTE } from "./plan-execute/core.ts";
import { REACT } from "../../core/topologies/react.ts";
import type { TopologyModule } from "../../core/topologies/topology.ts";

const ROWS = new Map<string, TopologyModule>();

/** The topology of that name; null if cairn has none. */
export const topologyNamed = (kind: string): TopologyModule | null => ROWS.get(kind) ?? null;

const MODULES: readonly TopologyModule[] = [
  REACT,
  ORCHESTRATOR,
  nesting(PIPELINE, topologyNamed),
  nesting(PLAN_EXECUTE, topologyNamed),
  nesting(DEBATE, topologyNamed),
  HIERARCHICAL,
];

for (const module of MODULES) ROWS.set(module.kind, module);

/** The names of the topologies. */
export const TOPOLOGY_NAMES: readonly string[] = [...ROWS.keys()];
