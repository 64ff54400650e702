/** One alarm, as the tables of alarms write it. */
import type { Series } from "./series.ts";

export interface Watch extends Why, Rule {
  /** Without the prefix of its deployment. */
  readonly name: string;
  readonly of: Watched;
}

/** A series, or how many percent of `whole` are `part`; none while there are fewer than `wholeMin` of them. */
export type Watched =
  | { readonly kind: "series"; readonly series: Series }
  | { readonly kind: "percent"; readonly part: Series; readonly whole: Series; readonly wholeMin: number };

export interface Why {
  readonly means: string;
  /** What an operator does, with a command to type where there is one. */
  readonly todo: string;
}

/** So many of the last periods are above the threshold, or below it. */
export interface Rule {
  readonly periodSeconds: number;
  readonly periods: number;
  readonly periodsToAlarm: number;
  readonly side: "above" | "below";
  readonly threshold: number;
  readonly silence: "fine" | "alarming";
}

export const MINUTES = 60;
export const PERIOD_SECONDS = 5 * MINUTES;

export const ONCE: Rule = {
  ...{ periodSeconds: PERIOD_SECONDS, periods: 1, periodsToAlarm: 1 },
  ...{ side: "above", threshold: 0, silence: "fine" },
};
/** What is tried again with pauses, so that a single one is no matter. */
export const LASTING: Rule = { ...ONCE, periods: 3, periodsToAlarm: 3 };
export const REPEATED: Rule = { ...ONCE, periods: 3, periodsToAlarm: 2 };

export const watch = (name: string, series: Series, of: Why & Rule): Watch => ({
  name,
  of: { kind: "series", series },
  ...of,
});

/** `CrashLoop` is `crash-loop`. */
export const kebab = (name: string): string => name.replaceAll(/(?<=[a-z])[A-Z]/g, "-$&").toLowerCase();
