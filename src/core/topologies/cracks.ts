/**
 * The typical first failures of each topology, and the signals that show them (seed 4). It is the one table for
 * operators who monitor a deployment and for auditors of an agent. A failure without a signal shows only when its run
 * is paid for.
 */
import type { Crack } from "../event.ts";
import type { Topology } from "./react.ts";

export interface CrackRow {
  readonly crack: Crack;
  readonly signal: string;
  /** What the engine does on its own. */
  readonly recovery: string;
  /** The failure code of runs that do not recover. They are counted, and the alarm has this name. */
  readonly code: "Runaway" | "Oscillation" | "NotDone";
}

export const CRACKS: { readonly [K in Topology["kind"]]: readonly CrackRow[] } = {
  react: [
    {
      crack: "runaway",
      signal: "the same call with the same result, three times among six",
      recovery: "is stopped after a closing call; beats before a crash count towards its limit",
      code: "Runaway",
    },
    {
      crack: "oscillation",
      signal: "two calls alternate, six in a row, with the same results",
      recovery: "is stopped after a closing call",
      code: "Oscillation",
    },
    {
      crack: "prematureStop",
      signal: "its model says that it is done while a check of done fails",
      recovery: "tells its model what is missing, three times, then fails",
      code: "NotDone",
    },
  ],
};
