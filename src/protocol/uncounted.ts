import type { Row } from "./row.ts";

/** What a row has that was made before these were counted. */
export const UNCOUNTED: Pick<Row, "deaths" | "asks" | "will" | "storeOutage"> = {
  deaths: 0,
  asks: 0,
  will: 0,
  storeOutage: null,
};
