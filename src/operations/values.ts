/** Schemas that the inputs of operations share. */
import * as z from "zod";
import type { Json } from "../core/json.ts";

/** Any JSON, unchanged. */
export const json = z.unknown() as unknown as z.ZodType<Json, Json>;
