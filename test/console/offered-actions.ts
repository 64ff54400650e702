/** The names of the actions that the console offers of runs: one at work, and one that has failed and was restored. */
import { actionsOf } from "../../src/console/model/actions.ts";

export const OFFERED_OF_RUNS = [
  ...actionsOf({ inProgress: true, status: "running", redrivable: false, waitsFor: null, restored: null }),
  ...actionsOf({
    inProgress: false,
    status: "failed",
    redrivable: true,
    waitsFor: null,
    restored: { at: 2, asOf: 1, waits: false },
  }),
];
