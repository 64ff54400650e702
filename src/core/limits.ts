/**
 * Bounds of what the core decides. What is stored has its sizes in `codec/limits.ts`, and what waits its times in
 * `protocol/limits.ts`: every bound has a name, and the relations between bounds are asserted when a world is composed.
 */
export const BOUNDS = {
  idempotencyKeyCharactersMax: 256,
  /** Tries of one call that end without an answer. */
  callTriesMax: 3,
  modelRetriesMax: 3,
  nudgesMax: 3,
  /** The loop detector: so many equal calls among so many of the newest ones are a loop. */
  loopRepeats: 3,
  loopCalls: 6,
  /** What of its last words a failure tells; all of them are in the transcript. */
  lastWordsCharactersMax: 1_000,
} as const;
