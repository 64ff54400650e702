/**
 * The failure codes of infrastructure: the model's provider, the processes, the chain that drives the run. The run
 * itself made no mistake and can go on when the cause is gone. So its effects stay unless its agent declares otherwise
 * (`saga.onOutage`), and an operator may redrive it. This is the only list of these codes.
 */
import type { Failure } from "../event.ts";
import type { FailedFrom } from "../failed-from.ts";
import type { State } from "../state.ts";

export const INFRASTRUCTURE: readonly string[] = [
  /** No model answered for the maximum duration of an outage. */
  "ModelUnavailable",
  /** The model did not answer within the agent's limit (`hardIdleMs`). */
  "HardIdleTimeout",
  /** Too many of the run's processes died: detected by a beat (`CrashLoop`) or by the sweeper (`Abandoned`). */
  "CrashLoop",
  "Abandoned",
  /** No human's answer and no deployment came within the time that a run may wait. */
  "Expired",
];

export const isInfrastructureFailure = ({ code }: Failure): boolean => INFRASTRUCTURE.includes(code);

/** What the event of the end records for a redrive; null if the run may not be redriven. */
export function failedFrom(state: State): FailedFrom | null {
  const { ending, saga, open } = state;
  if (ending?.kind !== "failed" || !isInfrastructureFailure(ending.failure) || saga !== undefined) return null;
  const started = open.flatMap(({ call, status }) => (status === "started" ? [call] : []));
  return { phase: state.pausedFrom ?? state.phase, started };
}
