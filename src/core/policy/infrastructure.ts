/**
 * Failures of what a run runs on: its model's provider, its processes, whoever drives it. The run itself made no mistake
 * and may go on when the cause is gone, so what it did stands unless its agent says otherwise (`saga.onOutage`), and an
 * operator may redrive it. This is the one list of their codes.
 */
import type { Failure } from "../event.ts";

export const INFRASTRUCTURE: readonly string[] = [
  /** No model answered for as long as an outage may last. */
  "ModelUnavailable",
  /** The model did not answer in the time that the agent allows (`hardIdleMs`). */
  "HardIdleTimeout",
  /** Too many of its processes died: found by a beat, and by the sweeper. */
  "CrashLoop",
  "Abandoned",
  /** Neither a person nor a deployment came for as long as a run may wait. */
  "Expired",
];

export const isOfInfrastructure = ({ code }: Failure): boolean => INFRASTRUCTURE.includes(code);
