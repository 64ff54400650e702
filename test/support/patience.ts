/**
 * How long a test may take that plays many histories: a second for each, which is what a history takes on a machine with
 * ten times more to do than cores. Each history has a bound of its own, in steps; this one ends what hangs.
 */
const HISTORIES_MAX = 1_000;
export const ENUMERATION = { timeout: HISTORIES_MAX * 1_000 } as const;
