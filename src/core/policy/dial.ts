/**
 * The dial between performance and recoverability, per step and not global (seed 4): whether a plan is durable before its
 * calls start, its results before the model hears of them, and a result while other calls still run. It decides what a death may cost, never what it may
 * break: a plan waits only where nothing outside is changed (rule 1), and one at a time (schedules 70 to 72).
 */
import { EFFECTS, type Effect } from "../calls/effects.ts";

/** `always`: every plan is committed before its calls start. */
export type Dial = "auto" | "always";

export interface StepAtRisk {
  /** The blast radius: what the calls of one reply may do, and how many they are. */
  readonly effects: readonly Effect[];
  /** What the reply has cost, and would cost again. */
  readonly reply: { readonly microUsd: number; readonly tookMs: number };
  /** From 0 to 1: of how many invocations one dies. */
  readonly crashRate: number;
}

export interface Setting {
  /** `skip`: without a commit of its own, with the results of its calls. */
  readonly plan: "skip" | "force";
  /** `merge`: with the next commit, be it that of a later reply of the same invocation. */
  readonly results: "merge" | "force";
  readonly why: string;
}

export interface ResultAtRisk {
  readonly effect: Effect;
  /** How long its call took, and would take again. */
  readonly tookMs: number;
  readonly crashRate: number;
}

/** Of one conditional write of a row: three write units at list price, and an answer from DynamoDB (`scripts/prices.ts`). */
export const COMMIT_COST = { microUsd: 2, ms: 5 } as const;

/** Before anything was seen one invocation in a hundred is taken to die, and that counts as a hundred seen ones. */
const PRIOR = { deaths: 1, claims: 100 } as const;

export const crashRateOf = (seen: { readonly takeovers: number; readonly claims: number }): number =>
  Math.min(1, (seen.takeovers + PRIOR.deaths) / (seen.claims + PRIOR.claims));

export function dialOf({ effects, reply, crashRate }: StepAtRisk): Setting {
  const outside = effects.filter((effect) => EFFECTS[effect].actsOutside).length;
  const once = effects.some((effect) => EFFECTS[effect].startsOnce);
  const results = once ? "force" : "merge";
  // Nobody could tell after a death which deeds were meant: another reply asks for others, under other keys.
  if (outside > 0) return { plan: "force", results, why: `${outside} of ${effects.length} calls act outside` };
  const isCheap = crashRate * reply.microUsd < COMMIT_COST.microUsd && crashRate * reply.tookMs < COMMIT_COST.ms;
  if (!isCheap) return { plan: "force", results, why: "losing the reply would cost more than a commit" };
  return { plan: "skip", results, why: "nothing acts outside, and the reply costs less to lose than a commit" };
}

/**
 * A result that is there while other calls of its reply still run: whether it is committed at once (schedule 76). Without
 * that, a death asks a human or the external service about what was known; a slow call is repeated; a call without an effect costs nothing.
 */
export function resultSettingOf({ effect, tookMs, crashRate }: ResultAtRisk): Setting["results"] {
  const { startsOnce, actsOutside } = EFFECTS[effect];
  if (startsOnce) return "force";
  if (!actsOutside) return "merge";
  return crashRate * tookMs < COMMIT_COST.ms ? "merge" : "force";
}
