/**
 * The timeout of tests that play many histories: a second per history, which one takes on a machine with
 * ten times more load than cores. Each history has its own limit in steps; this timeout ends a test that hangs.
 */
const HISTORIES_MAX = 1_000;
export const ENUMERATION_TIMEOUT = { timeout: HISTORIES_MAX * 1_000 } as const;
