/** The constructor of a plan-execute topology: it separates the options, which are data, from the precondition. */
import { checkTopologyOptions, checkWorkingRole } from "./topology-forms.ts";
import type { RoleOptions } from "../features/topologies/debate/core.ts";
import type { PlanExecuteOptions } from "../features/topologies/plan-execute/core-options.ts";
import { reactTopology } from "../core/topologies/react.ts";
import type { Topology, TopologyFunction } from "../ports/agent.ts";
import { wallMsSchema } from "./budget.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";

/** A planner writes a plan; its steps are carried out one by one. */
export function planExecute(options: {
  /** Writes the plan. `tools`: what it may look at the world with; default: nothing. */
  readonly planner: RoleOptions & { readonly tools?: readonly string[] };
  /** How each step is carried out; default: ReAct with 20 beats. */
  readonly step?: Partial<RoleOptions> & { readonly maxBeats?: number; readonly topology?: Topology };
  /** After this age a plan is stale and replaced: milliseconds, or `90s`, `10m`, `2h`; default 1 hour. */
  readonly planTtl?: number | string;
  /** Whether the world is as a step needs it. `about` is `{ step, title }`, `output` what the step does. */
  readonly precondition?: TopologyFunction;
  /** What follows a failed step; default: another plan. */
  readonly onFailedStep?: "stop" | "skip" | "replan";
  /** How many further plans; default 2. */
  readonly replans?: number;
  /** The most steps of a plan; default 20. */
  readonly stepsMax?: number;
  /** Tools whose steps come at the end of each plan. A step before the last one has them only if it names its tools. */
  readonly effectsLast?: readonly string[];
  /** What else your tools say when the object of a step is gone, such as `["retired"]`: then the plan is stale. */
  readonly goneWords?: readonly string[];
  /** The cap of the whole run; default 100. */
  readonly maxBeats?: number;
}): Topology & PlanExecuteOptions {
  checkTopologyOptions("planExecute", options);
  checkWorkingRole("the planner of planExecute", options.planner);
  if (options.step !== undefined) checkWorkingRole("the step of planExecute", options.step, []);
  const { planner, precondition, onFailedStep = "replan", replans = 2, stepsMax = 20, effectsLast = [] } = options;
  const { maxBeats: cap, topology: given, ...role } = options.step ?? {};
  const topology = given ?? (cap === undefined ? undefined : reactTopology({ maxBeats: cap }));
  const ttl = wallMsSchema().safeParse(options.planTtl ?? "1h");
  if (!ttl.success) throw new AgentInvalid(`planTtl ${String(options.planTtl)}: ${ttl.error.issues[0]?.message ?? ""}`);
  return {
    kind: "plan-execute",
    maxBeats: options.maxBeats ?? 100,
    planner,
    onFailedStep,
    stepsMax,
    effectsLast,
    planTtlMs: ttl.data,
    replansMax: replans,
    ...(options.goneWords !== undefined && { goneWords: options.goneWords }),
    step: topology === undefined ? role : { ...role, topology },
    ...(precondition === undefined ? {} : { precondition: "precondition" }),
    functions: { ...given?.functions, ...(precondition === undefined ? {} : { precondition }) },
  };
}
