import type { Phase } from "./phases.ts";

/** Where a run stood when it failed. */
export interface FailedFrom {
  readonly phase: Phase;
  /** Calls that the end marked as unknown only because the run could not find out their outcomes any more. */
  readonly started: readonly string[];
}
