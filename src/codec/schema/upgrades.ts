/** The schema of the agent-version fields of a state; see `schema.ts`. */
import * as z from "zod";
import type { Upgrades } from "../../core/state.ts";

const version = z.string().min(1);

export const upgrades: z.ZodType<Upgrades> = z.looseObject({
  policy: z.enum(["follow", "pin"]),
  asked: z.int().nonnegative(),
  lack: z
    .discriminatedUnion("kind", [
      z.looseObject({ kind: z.literal("agent"), why: z.string() }),
      z.looseObject({ kind: z.literal("upgrade"), to: version }),
    ])
    .nullable(),
  accepted: z.looseObject({ to: version, by: z.string() }).nullable(),
});
