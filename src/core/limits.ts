/**
 * Bounds of what the core decides. Sizes of stored data are in `codec/limits.ts`, and waiting times in
 * `protocol/limits.ts`. Every bound has a name, and composing a world asserts the relations between bounds.
 */
export const BOUNDS = {
  idempotencyKeyCharactersMax: 256,
  /** Labels of a run, the bytes of the value of each, and of all names and values. */
  labelsMax: 8,
  labelBytesMax: 64,
  labelsBytesMax: 256,
  /** Attempts of one call that may end with an unknown outcome. */
  callTriesMax: 3,
  /** Beats in a row that cannot start a call, mostly for lack of time. After them an operator decides about it. */
  missedBeatsMax: 3,
  /** Quick retries of a model call before the run waits for the end of an outage. */
  modelRetriesMax: 3,
  /** Pauses between retries in an outage: a random part of a ceiling that doubles from `Min` to `Max`. */
  outagePauseMsMin: 8_000,
  outagePauseMsMax: 15 * 60_000,
  /** An outage of this length alarms the operator. */
  outageAlarmMs: 3 * 60_000,
  /** How long a fallback that answered is called before the agent's own model. */
  fallbackMs: 5 * 60_000,
  /** The first and the longest pause between two looks at a model job, and their share of its age. */
  modelLookMsMin: 5_000,
  modelLookMsMax: 30 * 60_000,
  modelLookShare: 1 / 2,
  /** A job without a reply for so long counts as lost: longer than any provider keeps a batch open. */
  detachedCallMsMax: 26 * 3_600_000,
  /** How long a start whose answer was lost is repeated while its provider refuses what the request contains. */
  refusedStartMsMax: 3_600_000,
  /** If clocks disagree whether a time has passed, the run checks again after this time. */
  clockAgainMs: 10 * 60_000,
  nudgesMax: 3,
  /** Replies in a row that a limit may cut before the run waits for an operator. */
  cutRepliesMax: 4,
  /** Children whose entries stand. One transaction of DynamoDB makes all of one commit: 1 + 2n of 100 actions. */
  childrenMax: 49,
  /** Events that a run keeps which no call waits for yet. */
  signalsMax: 16,
  /** References to what a run has learned. */
  learnedRefsMax: 64,
  /** The loop detector: `loopRepeats` equal calls among the newest `loopCalls` calls are a loop. */
  loopRepeats: 3,
  loopCalls: 6,
  /** So are `loopRepeats` rounds of the same calls or replies, of this many at most. */
  loopPeriodMax: 8,
  /** So are this many replies whose calls of one tool all failed; and the most that an agent may allow. */
  loopFailures: 8,
  loopFailuresMax: 100,
  /** How much of the closing call's text the failure quotes. The transcript has all of it. */
  lastWordsCharactersMax: 1_000,
} as const;
