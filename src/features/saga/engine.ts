/**
 * Compensation (saga): a run undoes its effects before it ends. Each undo is a call of its own: intended, released, run
 * and recovered like any other. So a crash between two undos loses neither their order nor the remaining ones (schedule
 * 68).
 */
import { endsByDeadline, wantsRestart } from "../../core/policy/ending.ts";
import type { Agent, Tool } from "../../ports/agent.ts";
import { bounded } from "../../codec/value.ts";
import { exhaustedMeter } from "../../core/policy/spending.ts";
import type { Failure } from "../../core/event.ts";
import { isInfrastructureFailure } from "../../core/policy/infrastructure.ts";
import { ensure } from "../../core/ensure.ts";
import { mayHaveActed } from "../../core/calls/held-calls.ts";
import { repeatsOf } from "../../core/calls/repeats.ts";
import { type CallFacts, effectsThatStand } from "./core-standing.ts";
import type { State } from "../../core/state.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { limitsOf } from "../../engine/context/budget-gate.ts";
import { ignoreUnappliedDecisions } from "../approvals/ignored-decisions.ts";
import { ignoreUnjudgedInputs } from "../../engine/context/inbox.ts";
import { toolFor } from "../../engine/tools/tools.ts";
import type { Next } from "../../engine/context/next.ts";
import { reconcileFromOf } from "../../engine/tools/unknown-outcome.ts";

/**
 * Begins the compensation, or decides to leave the effects. Nothing else starts from here on. A call that may still run
 * is not undone before it is over (schedule 69).
 */
export function compensate(run: ActiveRun, agent: Agent): Next {
  const { ending, compensate: asked, open } = run.state;
  const isAsked = asked !== undefined || open.some(({ answer }) => answer?.as === "compensate");
  const at = run.now;
  const isOutage = ending?.kind === "failed" && isInfrastructureFailure(ending.failure);
  const wanted = endsByDeadline(run.state) ? "undo" : isOutage ? agent.saga.onOutage : agent.saga.onFailure;
  if (wanted === "leave" && !isAsked && ending?.kind === "failed") {
    const why = isOutage ? LEFT_IN_OUTAGE : "the agent declares that its effects stay when it fails";
    const action = { kind: "abort", failure: ending.failure, next: "leave" } as const;
    run.record({ kind: "RecoveryDecided", at, rule: "effects are left", why, action });
    return "continue";
  }
  for (const each of open) {
    if (!mayHaveActed(each) || each.undoes !== undefined) continue;
    const why = "the run has to stop before its outcome was known";
    const reconcilableFrom = reconcileFromOf(run, toolFor(agent, each));
    run.record({ kind: "ToolOutcomeUnknown", at, call: each.call, why, reconcilableFrom });
  }
  ignoreUnappliedDecisions(run);
  ignoreUnjudgedInputs(run);
  const why = asked === undefined ? "the run failed" : `${asked.by} asked for it`;
  run.record({ kind: "RecoveryDecided", at, rule: "effects are undone", why, action: { kind: "compensate" } });
  return "continue";
}

const LEFT_IN_OUTAGE = "the infrastructure failed, not the run: its effects stay, and it may be redriven";

/** Decides to undo this call next. */
export function undo(run: ActiveRun, call: string): Next {
  const isRepeat = run.state.saga === undefined;
  const why = isRepeat
    ? "it is the newest effect of work that is repeated"
    : "it is the newest effect that is not undone";
  run.record({
    kind: "RecoveryDecided",
    at: run.now,
    rule: "newest effect first",
    why,
    action: { kind: "undo", call },
  });
  return "continue";
}

/** Restarts the run because an operator asked for it, whatever that costs. */
export function startOver(run: ActiveRun): Next {
  const by = run.state.compensate?.by ?? "an operator";
  const why = `${by} asked for a restart`;
  const action = { kind: "abort", failure: { code: "RestartRequested", message: why }, restarts: true } as const;
  run.record({ kind: "RecoveryDecided", at: run.now, rule: "restart requested", why, action });
  return "continue";
}

/**
 * Decides after compensation: the run restarts if it may, otherwise it ends. Every effect is undone by now, or left
 * because a human decided so.
 */
export function conclude(run: ActiveRun, agent: Agent): Next {
  const { ending } = run.state;
  ensure(ending?.kind === "failed", "only a failed run begins again");
  const at = run.now;
  const { failure } = ending;
  const { standing } = effectsThatStand(run.state, factsOf(run.state, agent.tools));
  const against = wantsRestart(run.state) ? null : reasonToEnd(run.state, { agent, standing });
  const came = standing.length === 0 ? "its effects were undone" : `these were not undone: ${standing.join(", ")}`;
  if (against === null) {
    const say = bounded(
      `Attempt ${run.state.restart} did not succeed: ${failure.message}. After it ${came}. Begin again from the task; ` +
        "the earlier results are not available any more.",
    );
    const why = `${failure.code}: ${failure.message}`;
    run.record({ kind: "RecoveryDecided", at, rule: "begins again", why, action: { kind: "restart", text: say } });
    return "continue";
  }
  const told: Failure = { ...failure, message: bounded(`${failure.message}; ${came}`) };
  const action = { kind: "abort", failure: told, next: "leave" } as const;
  run.record({ kind: "RecoveryDecided", at, rule: "ends after it was undone", why: against, action });
  return "continue";
}

/** Why the run may not restart, or null if it may. */
function reasonToEnd(
  state: State,
  { agent, standing }: { readonly agent: Agent; readonly standing: readonly string[] },
): string | null {
  const { ending, stopsFor, restart: attempt, spent } = state;
  const { restarts, leaving } = agent.saga;
  if (ending?.kind === "failed" && ending.next === "end") return "it failed for good";
  if (stopsFor !== undefined) return "it had to stop";
  if (attempt > restarts) return `attempt ${attempt} was the last one that its agent allows`;
  const over = exhaustedMeter(spent, limitsOf(state, agent));
  if (over !== null) return over;
  if (leaving === "nothing" && standing.length > 0)
    return `a restart would repeat effects that were not undone: ${standing.join(", ")}`;
  return null;
}

/**
 * The effect class of each call, as the agent's current tools declare it. An effect that can be undone was undone,
 * unless the run left it.
 */
function factsOf({ saga, ...state }: State, tools: Readonly<Record<string, Tool>>) {
  return ({ call, tool }: { readonly call: string; readonly tool: string }): CallFacts => {
    const declared = Object.hasOwn(tools, tool) ? tools[tool] : undefined;
    const { undone, standing } = repeatsOf(state);
    const isLeft = saga?.leftInPlace.includes(call) === true || standing.includes(call);
    const isUndone = undone.includes(call) || ((declared?.undo ?? null) !== null && !isLeft);
    return { effect: declared?.effect ?? null, isUndone };
  };
}
