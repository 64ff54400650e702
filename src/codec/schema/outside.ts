/** The schema of what a run did outside, as `core/outside.ts` has it; see `state.ts`. */
import * as z from "zod";
import type { OutsideWork } from "../../core/outside.ts";

const name = z.string().min(1);

export const outsideWork: z.ZodType<OutsideWork> = z.looseObject({
  calls: z.array(
    z.looseObject({
      run: name.exactOptional(),
      call: name,
      tool: z.string(),
      key: z.string(),
      outcome: z.enum(["succeeded", "unknown", "undone"]),
    }),
  ),
  more: z.int().positive().exactOptional(),
  settlesAt: z.int().positive().exactOptional(),
});
