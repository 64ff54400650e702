/** The constructor of a debate. */
import { checkRole, checkTopologyOptions, checkWorkingRole } from "./topology-forms.ts";
import type { DebateOptions, RoleOptions } from "../features/topologies/debate/core.ts";
import { reactTopology } from "../core/topologies/react.ts";
import type { Topology } from "../ports/agent.ts";

/** A drafter and a critic in turns, and a judge who scores each draft. The best-scored draft is the answer. */
export function debate(options: {
  readonly drafter: RoleOptions & {
    /** The tools of the drafter; default: all of the agent. */
    readonly tools?: readonly string[];
    /** The cap of one draft; default 20. */
    readonly maxBeats?: number;
    /** How the drafter works; default: ReAct. */
    readonly topology?: Topology;
  };
  readonly critic: RoleOptions;
  /** Scores each draft from 0 to 1. Give it a `model` of its own, so that it is independent. */
  readonly judge: RoleOptions;
  /** How many drafts at most, the first one included; default 3. */
  readonly rounds?: number;
  /** Drafts that differ by less than this share of their words have converged; default 0.05. */
  readonly epsilon?: number;
  /** The cap of the whole run; default 60. */
  readonly maxBeats?: number;
}): Topology & DebateOptions {
  checkTopologyOptions("debate", options);
  checkWorkingRole("the drafter of debate", options.drafter);
  checkRole("the critic of debate", options.critic);
  checkRole("the judge of debate", options.judge);
  const { critic, judge, rounds = 3, epsilon = 0.05, maxBeats = 60 } = options;
  const { maxBeats: cap, topology: given, ...role } = options.drafter;
  const topology = given ?? (cap === undefined ? undefined : reactTopology({ maxBeats: cap }));
  const drafter = topology === undefined ? role : { ...role, topology };
  const functions = given?.functions ?? {};
  return { kind: "debate", maxBeats, rounds, epsilon, drafter, critic, judge, functions };
}
