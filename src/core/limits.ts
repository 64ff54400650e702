/**
 * Bounds of what the core decides. What is stored has its sizes in `codec/limits.ts`, and what waits its times in
 * `protocol/limits.ts`: every bound has a name, and the relations between bounds are asserted when a world is composed.
 */
export const BOUNDS = {
  idempotencyKeyCharactersMax: 256,
  /** Tries of one call that end without an answer. */
  callTriesMax: 3,
  /** Quick retries of a model call, before the run waits for the end of an outage. */
  modelRetriesMax: 3,
  /** Pauses between the tries of an outage: a random part of one that doubles from the first of these to the second. */
  outagePauseMsMin: 8_000,
  outagePauseMsMax: 15 * 60_000,
  /** An outage that lasts so long is told to the operator. */
  outageAlarmMs: 3 * 60_000,
  /** How long a fallback that answered is asked before the agent's own model. */
  fallbackMs: 5 * 60_000,
  /** What is over by one clock and not by another one is looked at again after so long. */
  clockAgainMs: 10 * 60_000,
  nudgesMax: 3,
  /** The loop detector: so many equal calls among so many of the newest ones are a loop. */
  loopRepeats: 3,
  loopCalls: 6,
  /** What of its last words a failure tells; all of them are in the transcript. */
  lastWordsCharactersMax: 1_000,
} as const;
