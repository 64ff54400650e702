/** The names of the typical failures of agents. `topologies/cracks.ts` says what each of them is. */
export const CRACK_NAMES = [
  "runaway",
  "oscillation",
  "prematureStop",
  "cascadingPoison",
  "deadlock",
  "capitulation",
  "stalePlan",
  "partialExecution",
  "lostHandoff",
  "bossDeath",
  "workerSilence",
  "rootBottleneck",
] as const;
export type Crack = (typeof CRACK_NAMES)[number];
