/** The schema of a request to a model that is out, as `core/model-out.ts` has it; see `state.ts`. */
import * as z from "zod";
import type { ModelOut } from "../../core/model-out.ts";
import { detachedCall } from "./detached-call.ts";
import { files } from "./message.ts";

export const modelOut: z.ZodType<ModelOut> = z.looseObject({
  by: z.literal("modelJob"),
  detached: detachedCall,
  held: z.array(z.looseObject({ text: z.string(), by: z.string(), files })),
});
