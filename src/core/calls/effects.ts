/**
 * The effect table: one row per effect class, with everything that depends on the class. A tool declares the class of
 * its calls, and the engine reads from the row what may follow. No other code compares the name of a class. So the fate
 * of a call that a crash left open is computed and never guessed.
 */

export interface EffectRow {
  /** What a new owner does with a call that another invocation released and that has no recorded outcome. */
  readonly onCrash: "again" | "probe" | "ask";
  /** What follows an attempt that ended with an unknown outcome. */
  readonly onTimeout: "again" | "probe" | "ask";
  /** What follows the last such attempt, unless the tool declares `onUnknown`. */
  readonly afterLastTry: "tell" | "ask";
  /**
   * What precedes the first attempt in a run that was restored from a backup, since the call may have happened in the time
   * that is lost. `probe`: only under a key that is surely the same as then, else `ask`.
   */
  readonly afterRestore: "again" | "probe" | "ask";
  /** `onCrash` in the words of the recovery audit. */
  readonly inWords: string;
  /** The call changes something outside: it can have a business key and an undo, and a restart could double it. */
  readonly actsOutside: boolean;
  /**
   * The external service knows the call by its idempotency key, so the tool can detect an existing effect (`onExists`).
   */
  readonly isKnownByKey: boolean;
  /** The same call under the same key is the same effect: the service deduplicates, or writes the same value again. */
  readonly isDeduplicated: boolean;
  /** The tool has a probe, which asks the external service for the outcome of the call. */
  readonly hasProbe: boolean;
  /** Only the epoch that released the call may start it: a later epoch cannot know whether it was started. */
  readonly startsOnce: boolean;
  /** The engine may release the call a second time. Otherwise a human must first say that it did not happen. */
  readonly mayRepeat: boolean;
  /** An earlier attempt may have happened, or may still happen: the error of a later one says nothing about it. */
  readonly overlapsEarlierTries: boolean;
  /** A cancel aborts the signal of a call under way. The others are awaited: their outcome has to be known. */
  readonly stopsOnCancel: boolean;
}

/**
 * From freely repeatable to never repeatable: of two classes the later row is the stricter one. `again` always uses the
 * same idempotency key. `probe` waits until every request has landed; then it asks the external service, or repeats the
 * call if its class has no probe. `ask` blocks the run until a human or a policy decides what
 * happened. `tell` lets the model go on with an unknown outcome.
 */
const ROWS = {
  none: {
    onCrash: "again",
    onTimeout: "again",
    afterLastTry: "tell",
    afterRestore: "again",
    inWords: "runs again at once",
    actsOutside: false,
    isKnownByKey: false,
    isDeduplicated: false,
    hasProbe: false,
    startsOnce: false,
    mayRepeat: true,
    overlapsEarlierTries: false,
    stopsOnCancel: true,
  },
  keyed: {
    onCrash: "again",
    onTimeout: "again",
    afterLastTry: "tell",
    afterRestore: "again",
    inWords: "runs again at once with the same key",
    actsOutside: true,
    isKnownByKey: true,
    isDeduplicated: true,
    hasProbe: false,
    startsOnce: false,
    mayRepeat: true,
    overlapsEarlierTries: true,
    stopsOnCancel: false,
  },
  idempotent: {
    // No request of an earlier attempt may land after a later call of the run has written another value (schedule 148).
    onCrash: "probe",
    onTimeout: "probe",
    afterLastTry: "ask",
    afterRestore: "again",
    inWords: "waits until its request can no longer land, then runs again",
    actsOutside: true,
    isKnownByKey: false,
    isDeduplicated: true,
    hasProbe: false,
    startsOnce: false,
    mayRepeat: true,
    overlapsEarlierTries: true,
    stopsOnCancel: true,
  },
  probed: {
    onCrash: "probe",
    onTimeout: "probe",
    afterLastTry: "ask",
    afterRestore: "probe",
    inWords: "asks the external service; if it did not happen, runs again with the same key",
    actsOutside: true,
    isKnownByKey: true,
    isDeduplicated: false,
    hasProbe: true,
    startsOnce: true,
    mayRepeat: true,
    overlapsEarlierTries: false,
    stopsOnCancel: false,
  },
  unsafe: {
    onCrash: "ask",
    onTimeout: "ask",
    afterLastTry: "ask",
    afterRestore: "ask",
    inWords: "never runs again by itself: blocked until it is reconciled",
    actsOutside: true,
    isKnownByKey: false,
    isDeduplicated: false,
    hasProbe: false,
    startsOnce: true,
    mayRepeat: false,
    overlapsEarlierTries: false,
    stopsOnCancel: false,
  },
} satisfies Readonly<Record<string, EffectRow>>;

export type Effect = keyof typeof ROWS;

export const EFFECTS: Readonly<Record<Effect, EffectRow>> = ROWS;

/** The class of a child run: its ID derives from its call, so the same call makes it once. */
export const CHILD_EFFECT: Effect = "keyed";

/** In the order of the table. */
export const EFFECT_NAMES = Object.keys(ROWS) as readonly Effect[];

/** The class of a call before its class is known. */
export const STRICTEST: Effect = "unsafe";

export const isStricter = (one: Effect, than: Effect): boolean =>
  EFFECT_NAMES.indexOf(one) > EFFECT_NAMES.indexOf(than);
