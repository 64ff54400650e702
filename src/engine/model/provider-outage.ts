/**
 * Outages of a model's provider: what follows from a failed call, which model the run calls meanwhile, and how a
 * wake-up shortens the wait.
 */
import type { Agent } from "../../ports/agent.ts";
import type { Model, Refusal } from "../../ports/model.ts";
import { hasOptionalParts } from "./optional-parts.ts";
import type { Failure } from "../../core/event.ts";
import { currentModel, earlierTryAt } from "../../core/policy/outage.ts";
import { decideRecovery } from "../../core/policy/recovery.ts";
import type { Routed } from "../../core/routed.ts";
import type { State } from "../../core/state.ts";
import type { World } from "../../ports/world.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { alarm } from "../../history/alarm.ts";
import { type StepOutcome, goesOn } from "../context/next.ts";
import type { LoadedAgent } from "../context/runner.ts";

/** A model call without a reply. */
export interface FailedCall {
  readonly failure: Failure;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** The wait that the provider asks for, in milliseconds. Null if it names none. */
  readonly retryAfterMs: number | null;
  /** The context was too long, or may have been, and can be compacted. */
  readonly shortens?: boolean;
  /** The provider refuses the request, whatever the task is. */
  readonly refusal?: Refusal;
  /** By how many tokens the request and its reply are above what is allowed at once. */
  readonly tokensOver?: number;
}

/**
 * Records what follows from the failed call: a retry, a fallback, a compaction or the end. Raises an alarm once the
 * outage has lasted too long.
 */
export function recordModelFailure(run: ActiveRun, agent: Agent, failed: FailedCall): StepOutcome {
  const { failure, retryable, retryAfterMs: afterMs, shortens = false } = failed;
  const { state: before, now, world } = run;
  const { outageMaxMs, fallbacks } = agent;
  const models = 1 + fallbacks.length;
  // The deployed version of the agent may have fewer fallbacks than the one that made this choice.
  const asked = Math.min(currentModel(before, now), fallbacks.length);
  const terms = { afterMs, outageMaxMs, models, asked, chance: chanceIn(world) };
  const retry = retryable ? terms : null;
  const leavesOut = failed.refusal === "request" && before.leavesOut === undefined && hasOptionalParts(before);
  const replyTokensMax = roomForReply(run, agent, failed);
  const refused = failed.refusal === undefined ? {} : { refused: { terms, leavesOut, replyTokensMax } };
  const decided = decideRecovery(before, { kind: "model", failure, retry, shortens, ...refused }, now);
  run.record(decided);
  const { action } = decided;
  if (action.kind === "block") return waitForOperator(run, failure);
  if (action.kind !== "retry" || action.outage === undefined) return goesOn();
  if (action.outage.alarmed !== true || before.outage?.alarmed === true) return goesOn();
  const { since, attempts } = action.outage;
  const minutes = Math.round((now - since) / 60_000);
  const why = `no model answered for ${minutes} minutes, in ${attempts} calls; ${failure.code}: ${failure.message}`;
  alarm(world, run.row.run, { what: "ModelUnavailable", why });
  return goesOn();
}

/** A provider counts the limit of a reply with its request. A lower one may make room, if the agent sets one. */
function roomForReply({ state }: ActiveRun, agent: Agent, { tokensOver = 0 }: FailedCall): number | null {
  const own = state.replyTokensMax ?? agent.modelOptions?.maxOutputTokens ?? 0;
  return tokensOver > 0 && own - tokensOver >= REPLY_TOKENS_MIN ? own - tokensOver : null;
}

/** A model that may say less cannot say what it wants to do. */
const REPLY_TOKENS_MIN = 256;

/** The run waits, and this invocation calls no model again. Only a resume, a message or another version lets it go on. */
export function waitForOperator(run: ActiveRun, { code, message }: Failure): StepOutcome {
  alarm(run.world, run.row.run, { what: code, why: message });
  return goesOn("deployment");
}

/** A random number from 0 to below 1. */
const chanceIn = ({ random }: Pick<World, "random">): number =>
  Number.parseInt(random.hex().slice(0, HEX_DIGITS), 16) / 16 ** HEX_DIGITS;
/** As many hex digits as a double holds exactly. */
const HEX_DIGITS = 12;

/**
 * The model to call now, and the agent with the price of that model. `role` names a model of the agent for the role that
 * its topology has reached, or one that the agent chose (`chosen`). In an outage a fallback answers in every role.
 */
export function routeModel(run: ActiveRun, met: LoadedAgent, role?: string, chosen?: string): Routing {
  const { agent, model, fallbacks = [] } = met;
  const index = currentModel(run.state, run.now) - 1;
  if (role !== undefined && index < 0) {
    const by = role === chosen ? "its agent chose" : "its topology names";
    const named = routeToNamed(met, { name: role, why: `${by} the model ${role} for this call` });
    if (named !== null) return named;
  }
  const [declared, fallback] = [agent.fallbacks[index], fallbacks[index]];
  if (declared === undefined || fallback === undefined) {
    return { agent, model, routed: null };
  }
  const why = whyFallback(run.state, index + 1);
  return { agent: { ...agent, ...declared }, model: fallback, routed: { by: "fallback", why } };
}

/** A model to call, and the agent with the price of that model. */
export interface Routing {
  readonly agent: Agent;
  readonly model: Model;
  /** Why it is another model than the agent's own; null: it is not. */
  readonly routed: Routed | null;
}

/** The model that the agent declares under this name, whether or not its own model is available. Null: there is none. */
export function routeToNamed(
  { agent, named = {} }: LoadedAgent,
  to: { readonly name: string; readonly why: string },
): Routing | null {
  const [declared, model] = [agent.models?.[to.name], named[to.name]];
  if (declared === undefined || model === undefined) return null;
  return { agent: { ...agent, ...declared }, model, routed: { by: "role", why: to.why } };
}

function whyFallback({ outage, fallback }: State, index: number): string {
  if (outage !== undefined)
    return `fallback ${index}: the model before it did not answer (${outage.attempts} calls failed)`;
  const until = new Date(fallback?.until ?? 0).toISOString();
  return `fallback ${index} has answered; the agent's own model is called again from ${until} on`;
}

/** The reason of the route, for the event of the call. Absent: the agent's own model was called. */
export const routeOf = ({ routed }: Pick<Routing, "routed">): { readonly routed?: Routed } =>
  routed === null ? {} : { routed };

/**
 * Makes the next model call due after a message or a resume, but not before the time that the provider asked for.
 * Returns false if the run does not wait for its model. The outage continues: its limit counts from the first failure.
 */
export function retryIsSooner(run: ActiveRun): boolean {
  const at = earlierTryAt(run.state, run.now);
  const { outage } = run.state;
  if (at === null || outage === undefined) return false;
  const why = "the run was woken while it waited for its model";
  const action = { kind: "retry", at, outage } as const;
  run.record({ kind: "RecoveryDecided", at: run.now, rule: "asked again at once", why, action });
  return true;
}
