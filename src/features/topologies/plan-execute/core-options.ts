/** The options of plan-execute, and what may be wrong with them. */
import type { RoleOptions } from "../debate/core.ts";
import { problemOfWhole } from "../../../core/topologies/problems.ts";
import type { Shape } from "../../../core/topologies/topology.ts";

export interface PlanExecuteOptions extends Shape {
  readonly kind: "plan-execute";
  /** `tools`: what the planner may look at the world with; default: nothing. */
  readonly planner: RoleOptions & { readonly tools?: readonly string[] };
  /** How each step is carried out. A step of the plan may name fewer tools. */
  readonly step: Partial<RoleOptions> & { readonly topology?: Shape };
  readonly stepsMax: number;
  /** After this age a plan is stale, in milliseconds. */
  readonly planTtlMs: number;
  /** How many further plans a run may have. */
  readonly replansMax: number;
  readonly onFailedStep: "stop" | "skip" | "replan";
  /** The function that looks whether the world is as a step needs it. */
  readonly precondition?: string;
  readonly effectsLast: readonly string[];
  /** What else a tool says when the object of a step is gone, in upper or lower case; absent: nothing. */
  readonly goneWords?: readonly string[];
}

export function planProblems({
  planner,
  stepsMax,
  planTtlMs,
  replansMax,
  onFailedStep,
  effectsLast,
  goneWords = [],
}: PlanExecuteOptions): readonly string[] {
  return [
    ...(typeof planner?.instructions === "string" ? [] : ["planner has no instructions"]),
    ...problemOfWhole("stepsMax", stepsMax, 1),
    ...problemOfWhole("planTtl in milliseconds", planTtlMs, 1),
    ...problemOfWhole("replans", replansMax, 0),
    ...(["stop", "skip", "replan"].includes(onFailedStep) ? [] : ['onFailedStep: write "stop", "skip" or "replan"']),
    ...(Array.isArray(goneWords) && goneWords.every((words) => typeof words === "string" && words.trim() !== "")
      ? []
      : ['goneWords: write texts that are not empty, such as ["retired"]']),
    ...(Array.isArray(effectsLast) ? [] : ["effectsLast: write the names of tools"]),
  ];
}
