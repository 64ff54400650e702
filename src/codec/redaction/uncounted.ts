/**
 * Patterns for texts of any length. V8 keeps a place to go back to for each repetition that it counts, and throws a
 * `RangeError` after some five million: so `\w{20,}` fails within 8 MB of one word. `\w{20}\w*` means the same, and
 * counts to 20.
 */

/** A character, an escape or a class, with a least number of repetitions. */
const COUNTED = /(\[(?:\\.|[^\]\\])*\]|\\.|[A-Za-z0-9])\{(\d+),\}/g;

/** The source of a pattern in which nothing is counted without an upper limit. */
export const uncountedSource = (source: string): string => source.replaceAll(COUNTED, "$1{$2}$1*");

export const uncounted = (pattern: RegExp): RegExp => new RegExp(uncountedSource(pattern.source), pattern.flags);
