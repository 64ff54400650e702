/**
 * Sagas: what a run did is undone before it ends. Each undo is a call of its own: intended, released, run and recovered
 * like any other, so a crash between two of them loses neither the order nor what is left to undo (schedule 68).
 */
import type { Agent, Tool } from "../../ports/agent.ts";
import { bounded } from "../../codec/value.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import { exhausted, extended } from "../../core/policy/spending.ts";
import type { Failure } from "../../core/event.ts";
import { extensionOf } from "../../core/policy/extension.ts";
import { isOfInfrastructure } from "../../core/policy/infrastructure.ts";
import { ensure } from "../../core/ensure.ts";
import { wantsRestart } from "../../core/calls/saga.ts";
import type { State } from "../../core/state.ts";
import { ofAttempt } from "../../core/policy/window.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { ignoreUnapplied } from "../context/ignored-decisions.ts";
import { toolFor } from "./tools.ts";
import type { Next } from "../context/next.ts";
import { askFromOf } from "./unknown-outcome.ts";

/** Nothing else is started from here on. What may be running is not undone before it is over (schedule 69). */
export function compensate(run: ActiveRun, agent: Agent): Next {
  const { ending, compensate: asked, open } = run.state;
  const isAsked = asked !== undefined || open.some(({ answer }) => answer?.as === "compensate");
  const at = run.now;
  const isOutage = ending?.kind === "failed" && isOfInfrastructure(ending.failure);
  const wanted = isOutage ? agent.saga.onOutage : agent.saga.onFailure;
  if (wanted === "leave" && !isAsked && ending?.kind === "failed") {
    const why = isOutage ? LEFT_IN_OUTAGE : "the agent wants what it did to be left as it is when it fails";
    const action = { kind: "abort", failure: ending.failure, next: "leave" } as const;
    run.record({ kind: "RecoveryDecided", at, rule: "effects are left", why, action });
    return "on";
  }
  for (const each of open) {
    if (each.status !== "started" || each.undoes !== undefined) continue;
    const why = "the run has to stop before its outcome was known";
    const askFrom = askFromOf(run, toolFor(agent, each));
    run.record({ kind: "ToolOutcomeUnknown", at, call: each.call, why, askFrom });
  }
  ignoreUnapplied(run);
  const why = asked === undefined ? "the run failed" : `${asked.by} asked for it`;
  run.record({ kind: "RecoveryDecided", at, rule: "effects are undone", why, action: { kind: "compensate" } });
  return "on";
}

const LEFT_IN_OUTAGE = "the run made no mistake: what it did is left as it is, and it may be redriven";

export function undo(run: ActiveRun, call: string): Next {
  const why = "it is the newest effect that stands";
  run.record({
    kind: "RecoveryDecided",
    at: run.now,
    rule: "newest effect first",
    why,
    action: { kind: "undo", call },
  });
  return "on";
}

/** Somebody wants the run to begin again, whatever that costs. */
export function startOver(run: ActiveRun): Next {
  const by = run.state.compensate?.by ?? "somebody";
  const why = `${by} wants the run to begin again`;
  const action = { kind: "abort", failure: { code: "RestartRequested", message: why } } as const;
  run.record({ kind: "RecoveryDecided", at: run.now, rule: "restart requested", why, action });
  return "on";
}

/** Everything is undone, or left because somebody said so: the run begins again if it may, and ends if not. */
export function conclude(run: ActiveRun, agent: Agent): Next {
  const { ending } = run.state;
  ensure(ending?.kind === "failed", "only a failed run begins again");
  const at = run.now;
  const { failure } = ending;
  const standing = standingIn(run.state, agent.tools);
  const against = wantsRestart(run.state) ? null : reasonToEnd(run.state, { agent, standing });
  const came = standing.length === 0 ? "what it did was undone" : `these were not undone: ${standing.join(", ")}`;
  if (against === null) {
    const say = bounded(
      `Attempt ${run.state.attempt} did not succeed: ${failure.message}. After it ${came}. Begin again from the task; ` +
        "what was found out before is not known any more.",
    );
    const why = `${failure.code}: ${failure.message}`;
    run.record({ kind: "RecoveryDecided", at, rule: "begins again", why, action: { kind: "restart", say } });
    return "on";
  }
  const told: Failure = { ...failure, message: bounded(`${failure.message}; ${came}`) };
  const action = { kind: "abort", failure: told, next: "leave" } as const;
  run.record({ kind: "RecoveryDecided", at, rule: "ends after it was undone", why: against, action });
  return "on";
}

function reasonToEnd(
  { ending, stopsFor, attempt, spent, ...state }: State,
  { agent, standing }: { readonly agent: Agent; readonly standing: readonly string[] },
): string | null {
  const { restarts, leaving } = agent.saga;
  if (ending?.kind === "failed" && ending.next === "end") return "it failed for good";
  if (stopsFor !== undefined) return "it had to stop";
  if (attempt > restarts) return `attempt ${attempt} was the last one that its agent allows`;
  const over = exhausted(spent, extended(agent.budget, extensionOf({ ending, attempt, spent, ...state })));
  if (over !== null) return over;
  if (leaving === "nothing" && standing.length > 0)
    return `effects stand that would be doubled: ${standing.join(", ")}`;
  return null;
}

/** Effects of this attempt that happened, or may have, and were not undone: `tool (call)`. */
function standingIn(state: State, tools: Readonly<Record<string, Tool>>): readonly string[] {
  const left = state.saga?.left ?? [];
  const results = ofAttempt(state).flatMap(({ parts }) => parts.filter((part) => part.kind === "result"));
  return results.flatMap(({ call, tool, outcome }) => {
    const declared = Object.hasOwn(tools, tool) ? tools[tool] : undefined;
    const isUndone = declared?.undo && !left.includes(call);
    const isHarmless = declared !== undefined && !EFFECTS[declared.effect].actsOutside;
    return outcome === "failed" || isHarmless || isUndone ? [] : [`${tool} (${call})`];
  });
}
