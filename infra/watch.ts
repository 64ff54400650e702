/** The type of one watch: an alarm, as the tables of watches declare it. */
import type { Series } from "./series.ts";

/** An alarm with its explanation. */
export interface Watch extends Why, Rule {
  /** The name, without the prefix of the deployment. */
  readonly name: string;
  readonly of: Watched;
}

/** A metric, or `part` as a percentage of `whole`. The percentage has no value while `whole` is below `wholeMin`. */
export type Watched =
  | { readonly kind: "series"; readonly series: Series }
  | { readonly kind: "percent"; readonly part: Series; readonly whole: Series; readonly wholeMin: number };

/** What an alarm means, and what the operator does about it. */
export interface Why {
  readonly means: string;
  /** What the operator does about it, with a command to type if there is one. */
  readonly todo: string;
}

/** The alarm goes off if this many of the last periods are above the threshold, or below it. */
export interface Rule {
  readonly periodSeconds: number;
  readonly periods: number;
  readonly periodsToAlarm: number;
  readonly side: "above" | "below";
  readonly threshold: number;
  readonly silence: "fine" | "alarming";
}

/** Seconds per minute. */
export const MINUTES = 60;
export const PERIOD_SECONDS = 5 * MINUTES;

/** A single occurrence in five minutes raises the alarm. */
export const ONCE: Rule = {
  ...{ periodSeconds: PERIOD_SECONDS, periods: 1, periodsToAlarm: 1 },
  ...{ side: "above", threshold: 0, silence: "fine" },
};
/** For operations that are retried with delays, so that a single failure does not matter. */
export const LASTING: Rule = { ...ONCE, periods: 3, periodsToAlarm: 3 };
/** For failures that matter only if they recur: two of three periods raise the alarm. */
export const REPEATED: Rule = { ...ONCE, periods: 3, periodsToAlarm: 2 };

export const watch = (name: string, series: Series, of: Why & Rule): Watch => ({
  name,
  of: { kind: "series", series },
  ...of,
});

/** Converts a name: `CrashLoop` becomes `crash-loop`. */
export const kebab = (name: string): string => name.replaceAll(/(?<=[a-z])[A-Z]/g, "-$&").toLowerCase();
