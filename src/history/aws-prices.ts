/** What AWS charges, by its price list. The figures of the documentation and the receipt of a run use the same table. */

/** Where and when the prices were looked up. */
export const PRICES_OF = { region: "us-east-1", date: "2026-11-24" } as const;

/** List prices in dollars, on demand. */
export const PRICES = {
  transition: 0.025 / 1_000,
  invocation: 0.2 / 1e6,
  /** For arm64. */
  gigabyteSecond: 0.0000133334,
  writeUnit: 0.625 / 1e6,
  readUnit: 0.125 / 1e6,
  put: 0.005 / 1_000,
  get: 0.0004 / 1_000,
  logGigabyte: 0.5,
  firing: 1 / 1e6,
  /** Per month, for each metric that the alarm reads. */
  alarm: 0.1,
  /** Per month in which the metric has data. */
  metric: 0.3,
  /** Per month. */
  dashboard: 3,
} as const;

/**
 * Assumed, not measured: how long a function waits for one response within a region, and its own CPU time;
 * milliseconds.
 */
export const WAIT_MS = { table: 5, get: 15, put: 25 } as const;
export const OWN_MS = 10;

/** The memory of a function that runs no agent. It is also the default for one that does. */
export const MEMORY_GB = 0.5;
