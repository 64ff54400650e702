/**
 * The first cracks of each topology, and what tells of them (seed 4): the one table for whoever watches a deployment and
 * whoever audits an agent. A crack that nobody looks for shows when its run is over and paid for.
 */
import type { Crack } from "../event.ts";
import type { Topology } from "./react.ts";

export interface CrackRow {
  readonly crack: Crack;
  readonly signal: string;
  /** What follows by itself. */
  readonly recovery: string;
  /** What a run fails with that does not come out of it: such runs are counted, and have an alarm of that name. */
  readonly code: "Runaway" | "Oscillation" | "NotDone";
}

export const CRACKS: { readonly [K in Topology["kind"]]: readonly CrackRow[] } = {
  react: [
    {
      crack: "runaway",
      signal: "the same call with the same result, three times among six",
      recovery: "is stopped and says its last words; beats before a crash count towards its cap",
      code: "Runaway",
    },
    {
      crack: "oscillation",
      signal: "two calls take turns, six in a row, with the same results",
      recovery: "is stopped and says its last words",
      code: "Oscillation",
    },
    {
      crack: "prematureStop",
      signal: "its model says that it is done while a check of done fails",
      recovery: "tells its model what is missing, three times, and fails then",
      code: "NotDone",
    },
  ],
};
