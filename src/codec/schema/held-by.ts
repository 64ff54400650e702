/** The schema of what holds an open call, as `core/held-by.ts` has it; see `state.ts`. */
import * as z from "zod";
import type { HeldBy } from "../../core/held-by.ts";
import { dispatched } from "./child.ts";
import { decision } from "./event.ts";
import { sha } from "./message.ts";
import { wait } from "./wait.ts";

const name = z.string().min(1);

export const gate = {
  gate: name,
  planHash: sha,
  argsHash: sha,
  reason: z.string(),
  expiresAt: z.int().nonnegative(),
  asksAgainMs: z.int().positive().exactOptional(),
  restored: z.int().nonnegative().exactOptional(),
  decision: decision.nullable(),
};

export const heldBy: z.ZodType<HeldBy> = z.discriminatedUnion("by", [
  z.looseObject({ by: z.literal("gate"), ...gate }),
  z.looseObject({ by: z.literal("child"), ...dispatched }),
  z.looseObject({ by: z.literal("wait"), ...wait }),
]);
