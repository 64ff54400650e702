/**
 * The effect table: one row per effect class, with everything that depends on the class. A tool declares the class of its
 * calls, and the engine reads from its row what may follow: nothing else compares the name of a class, so what happens to
 * a call that a crash left open is computed and never guessed (seed 4: unknown outcomes).
 */

export interface EffectRow {
  /** What a new owner does with a call that another invocation released and that has no outcome. */
  readonly onCrash: "again" | "probe" | "ask";
  /** What follows a try that ended without an answer. */
  readonly onTimeout: "again" | "probe" | "ask";
  /** What follows the last such try, unless the tool says otherwise (`onUnknown`). */
  readonly afterLastTry: "tell" | "ask";
  /** `onCrash`, as the recovery audit says it. */
  readonly inWords: string;
  /** The call changes something outside, so it can have a business key and an undo, and a restart could double it. */
  readonly actsOutside: boolean;
  /** The external service knows the call by its key, so the tool can recognise what exists already (`onExists`). */
  readonly isKnownByKey: boolean;
  /** The external service deduplicates: the same call under the same key is the same effect. */
  readonly isDeduplicated: boolean;
  /** Its tool has a probe, which asks the external service what became of the call. */
  readonly hasProbe: boolean;
  /** Only the epoch that released the call may start it: another one cannot know whether it was started. */
  readonly startsOnce: boolean;
  /** The engine may release the call a second time; otherwise only after a human said that it did not happen. */
  readonly mayRepeat: boolean;
  /** It runs again while an earlier try may still happen: an error of the later try says nothing of the earlier one. */
  readonly overlapsEarlierTries: boolean;
}

/**
 * From what may be repeated freely to what may not be repeated at all: of two classes the later row is the stricter one.
 * `again` is always with the same key; `probe` asks the external service; `ask` blocks the run until a human or a policy
 * says what happened; `tell` lets the model go on, knowing that the outcome is unknown.
 */
const ROWS = {
  none: {
    onCrash: "again",
    onTimeout: "again",
    afterLastTry: "tell",
    inWords: "runs again at once",
    actsOutside: false,
    isKnownByKey: false,
    isDeduplicated: false,
    hasProbe: false,
    startsOnce: false,
    mayRepeat: true,
    overlapsEarlierTries: false,
  },
  keyed: {
    onCrash: "again",
    onTimeout: "again",
    afterLastTry: "tell",
    inWords: "runs again at once with the same key",
    actsOutside: true,
    isKnownByKey: true,
    isDeduplicated: true,
    hasProbe: false,
    startsOnce: false,
    mayRepeat: true,
    overlapsEarlierTries: true,
  },
  probed: {
    onCrash: "probe",
    onTimeout: "probe",
    afterLastTry: "ask",
    inWords: "asks the other side; if it did not happen, runs again with the same key",
    actsOutside: true,
    isKnownByKey: true,
    isDeduplicated: false,
    hasProbe: true,
    startsOnce: true,
    mayRepeat: true,
    overlapsEarlierTries: false,
  },
  unsafe: {
    onCrash: "ask",
    onTimeout: "ask",
    afterLastTry: "ask",
    inWords: "never runs again by itself: blocked until it is reconciled",
    actsOutside: true,
    isKnownByKey: false,
    isDeduplicated: false,
    hasProbe: false,
    startsOnce: true,
    mayRepeat: false,
    overlapsEarlierTries: false,
  },
} satisfies Readonly<Record<string, EffectRow>>;

export type Effect = keyof typeof ROWS;

export const EFFECTS: Readonly<Record<Effect, EffectRow>> = ROWS;

/** In the order of the table. */
export const EFFECT_NAMES = Object.keys(ROWS) as readonly Effect[];

/** What holds for a call before its class is known. */
export const STRICTEST: Effect = "unsafe";

export const isStricter = (one: Effect, than: Effect): boolean =>
  EFFECT_NAMES.indexOf(one) > EFFECT_NAMES.indexOf(than);
