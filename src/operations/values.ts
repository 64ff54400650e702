/** Values that inputs of operations have in common. */
import * as z from "zod";
import type { Json } from "../core/json.ts";

/** Any JSON, as it is. */
export const json = z.unknown() as unknown as z.ZodType<Json, Json>;
