/** Starts a run with the deadline that its agent declares, and ends it when that deadline has passed. */
import { decideExpiry } from "./core.ts";
import type { Agent } from "../../ports/agent.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import type { Next } from "../../engine/context/next.ts";

/**
 * Records the start of the run.
 *
 * Schedule 134: the deadline is a time, and it is a part of this event. A later process, or a later version of the
 * agent, finds it in the state and sets no other one.
 */
export function recordStart(run: ActiveRun, { version: agentVersion, deadline }: Agent): Next {
  const at = run.now;
  const { forked } = run.state;
  const started = { kind: "RunStarted", at, agentVersion, ...(forked === undefined ? {} : { forked }) } as const;
  if (deadline === undefined) {
    run.record(started);
    return "continue";
  }
  const { afterMs, withinMs, onExpiry } = deadline;
  const fixed = { at: at + afterMs, endBy: at + afterMs + withinMs, onExpiry };
  run.record({ ...started, deadline: fixed });
  return "continue";
}

/** Decides what follows when the deadline has passed, or the time that the end of the run may take. */
export function expireRun(run: ActiveRun): Next {
  run.record(decideExpiry(run.state, run.now));
  return "continue";
}
