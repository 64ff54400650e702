/**
 * The failure codes of infrastructure: the model's provider, the processes, the chain that drives the run. The run
 * itself made no mistake and can go on when the cause is gone. So its effects stay unless its agent declares otherwise
 * (`saga.onOutage`), and an operator may redrive it. This is the only list of these codes.
 */
import type { Failure } from "../event.ts";

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
