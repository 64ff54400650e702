/**
 * The dial between performance and recoverability, per step and not global. It decides whether a plan is
 * durable before its calls start, and results before the model sees them. It also decides this for a result while other
 * calls run.
 *
 * It decides what a process death may cost, never what a death may break. A plan is deferred only if no call acts
 * outside (rule 1), and only one plan at a time (schedules 70 to 72).
 */
import { EFFECTS, type Effect } from "../calls/effects.ts";

/** `always`: every plan is committed before its calls start. `auto`: `dialOf` decides. */
export type Dial = "auto" | "always";

export interface StepAtRisk {
  /** The blast radius: the effect class of each call in one reply. */
  readonly effects: readonly Effect[];
  /** What the reply cost, and would cost again. */
  readonly reply: { readonly microUsd: number; readonly tookMs: number };
  /** The share of invocations that die, from 0 to 1. */
  readonly crashRate: number;
}

export interface Setting {
  /** `skip`: the plan is committed together with the results of its calls. */
  readonly plan: "skip" | "force";
  /** `merge`: committed with the next commit, even if that belongs to a later reply of the same invocation. */
  readonly results: "merge" | "force";
  readonly why: string;
}

export interface ResultAtRisk {
  readonly effect: Effect;
  /** How long the call took, and would take again. */
  readonly tookMs: number;
  readonly crashRate: number;
}

/**
 * The cost of one conditional row write: three write units at list price, and DynamoDB's latency.
 */
export const COMMIT_COST = { microUsd: 2, ms: 5 } as const;

/**
 * The assumption before anything is observed: one death in a hundred invocations. It weighs as a hundred observations.
 */
const PRIOR = { deaths: 1, claims: 100 } as const;

/** The share of claims that end in a takeover, from 0 to 1, with a prior for runs without history. */
export const crashRateOf = (seen: { readonly takeovers: number; readonly claims: number }): number =>
  Math.min(1, (seen.takeovers + PRIOR.deaths) / (seen.claims + PRIOR.claims));

/** How to commit the plan and the results of one reply. */
export function dialOf({ effects, reply, crashRate }: StepAtRisk): Setting {
  const outside = effects.filter((effect) => EFFECTS[effect].actsOutside).length;
  const once = effects.some((effect) => EFFECTS[effect].startsOnce);
  const results = once ? "force" : "merge";
  // After a death no process could tell which effects were planned: a new reply proposes other calls, under other keys.
  if (outside > 0) return { plan: "force", results, why: `${outside} of ${effects.length} calls act outside` };
  const isCheap = crashRate * reply.microUsd < COMMIT_COST.microUsd && crashRate * reply.tookMs < COMMIT_COST.ms;
  if (!isCheap) return { plan: "force", results, why: "losing the reply would cost more than a commit" };
  return { plan: "skip", results, why: "nothing acts outside, and the reply costs less to lose than a commit" };
}

/**
 * Whether a result is committed at once while other calls of its reply still run (schedule 76). Without that commit, a
 * death loses the result. Then a human or the external service is asked about a known outcome, or a slow call runs
 * again. A call without an effect costs nothing.
 */
export function resultSettingOf({ effect, tookMs, crashRate }: ResultAtRisk): Setting["results"] {
  const { startsOnce, actsOutside } = EFFECTS[effect];
  if (startsOnce) return "force";
  if (!actsOutside) return "merge";
  return crashRate * tookMs < COMMIT_COST.ms ? "merge" : "force";
}
