import type { Row } from "./row.ts";

/** Defaults for a row from before cairn counted these. */
export const UNCOUNTED: Pick<Row, "deaths" | "asks" | "will" | "storeOutage"> = {
  deaths: 0,
  asks: 0,
  will: 0,
  storeOutage: null,
};
