/**
 * The model that writes the summaries of an agent, which may be a cheaper one than its working model. Its failures are
 * its own: they do not count as an outage of the working model. After quick retries, or at once if a retry would fail
 * in the same way, the working model writes the summary instead.
 */
import type { Model } from "../../ports/model.ts";
import { decideRecovery } from "../../core/policy/recovery.ts";
import type { ActiveRun } from "../context/active-run.ts";
import type { LoadedAgent } from "../context/runner.ts";
import { type FailedCall, type Routing, routeModel, routeToNamed } from "./provider-outage.ts";

/** The model to ask for a summary, and the agent with its price. */
export interface Summariser extends Routing {
  /** It is the agent's own model for summaries, so another one can take its place. */
  readonly isOwn: boolean;
}

/** Chooses the model of the next summary. `role`: the model of the role that the topology has reached. */
export function routeSummary(run: ActiveRun, met: LoadedAgent, role: string | undefined): Summariser {
  const name = met.agent.summaries?.model;
  const why = "context.model names it for summaries";
  const isLeft = run.state.failedSummaries?.isLeft === true;
  const own = name === undefined || isLeft ? null : routeToNamed(met, { name, why });
  return own === null ? { ...routeModel(run, met, role), isOwn: false } : { ...own, isOwn: true };
}

/** Records that the model of summaries failed, and what follows. */
export function recordFailedSummary(run: ActiveRun, model: Model, failed: Omit<FailedCall, "shortens">): void {
  const { failure, retryable, retryAfterMs: afterMs } = failed;
  const { code, message } = failure;
  const trouble = {
    kind: "summary",
    failure: { code, message: `${model.name}: ${message}` },
    retry: retryable ? { afterMs } : null,
  } as const;
  run.record(decideRecovery(run.state, trouble, run.now));
}
