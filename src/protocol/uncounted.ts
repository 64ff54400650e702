import type { Row } from "./row.ts";

/** Defaults for the counters of rows from before cairn kept these counters. */
export const UNCOUNTED: Pick<Row, "deaths" | "asks" | "will" | "storeOutage"> = {
  deaths: 0,
  asks: 0,
  will: 0,
  storeOutage: null,
};
