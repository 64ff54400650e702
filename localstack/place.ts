/** The account that LocalStack assumes for every caller, and the region of everything. */
import type { Place } from "../infra/names.ts";

export const PLACE: Place = { partition: "aws", region: "us-east-1", account: "000000000000" };
