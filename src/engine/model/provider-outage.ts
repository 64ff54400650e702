/**
 * A model's provider that gives no answers, as the runner meets it: what a failed call leads to, whom the run asks
 * meanwhile, and who may end the wait early.
 */
import type { Agent } from "../../ports/agent.ts";
import type { Model } from "../../ports/model.ts";
import type { Failure } from "../../core/event.ts";
import { modelAsked, soonerTry } from "../../core/policy/outage.ts";
import { decideRecovery } from "../../core/policy/recovery.ts";
import type { World } from "../../ports/world.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { alarm } from "../../history/alarm.ts";
import type { LoadedAgent } from "../context/runner.ts";

/** A model call that gave no reply. */
export interface FailedCall {
  readonly failure: Failure;
  /** The same question may be answered later. */
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
  readonly shortens?: boolean;
}

export function recordModelFailure(run: ActiveRun, agent: Agent, failed: FailedCall): void {
  const { failure, retryable, retryAfterMs: afterMs, shortens = false } = failed;
  const { state: before, now, world } = run;
  const { outageMaxMs, fallbacks } = agent;
  const models = 1 + fallbacks.length;
  // A version of the agent with fewer fallbacks may have been deployed since.
  const asked = Math.min(modelAsked(before, now), fallbacks.length);
  const retry = retryable ? { afterMs, outageMaxMs, models, asked, chance: chanceIn(world) } : null;
  const decided = decideRecovery(before, { kind: "model", failure, retry, shortens }, now);
  run.record(decided);
  const { action } = decided;
  if (action.kind !== "retry" || action.outage === undefined) return;
  if (action.outage.alarmed !== true || before.outage?.alarmed === true) return;
  const { since, tries } = action.outage;
  const minutes = Math.round((now - since) / 60_000);
  const why = `no model answered for ${minutes} minutes, in ${tries} calls; ${failure.code}: ${failure.message}`;
  alarm(world, run.row.run, { what: "ModelUnavailable", why });
}

/** In [0, 1). */
const chanceIn = ({ random }: Pick<World, "random">): number =>
  Number.parseInt(random.hex().slice(0, HEX_DIGITS), 16) / 16 ** HEX_DIGITS;
/** As many as a double holds exactly. */
const HEX_DIGITS = 12;

/** The model that is asked now, and the agent as it is charged for it. */
export function routed(run: ActiveRun, { agent, model, fallbacks = [] }: LoadedAgent): { agent: Agent; model: Model } {
  const index = modelAsked(run.state, run.now) - 1;
  const [declared, fallback] = [agent.fallbacks[index], fallbacks[index]];
  if (declared === undefined || fallback === undefined) return { agent, model };
  const { price, priceFrom } = declared;
  return { agent: { ...agent, model: declared.model, price, priceFrom }, model: fallback };
}

/**
 * Somebody spoke to a run that waits for its model, or resumed it: the next try is due at once, but never before the
 * provider wants to be asked. The outage goes on as it was: how long it may last is counted from its first failure.
 */
export function triesSooner(run: ActiveRun): boolean {
  const at = soonerTry(run.state, run.now);
  const { outage } = run.state;
  if (at === null || outage === undefined) return false;
  const why = "the run was woken while it waited for its model";
  const action = { kind: "retry", at, outage } as const;
  run.record({ kind: "RecoveryDecided", at: run.now, rule: "asked again at once", why, action });
  return true;
}
