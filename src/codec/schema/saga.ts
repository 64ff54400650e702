/** The schemas of compensation: pending ends, calls that can be undone, and the saga in progress; see `schema.ts`. */
import * as z from "zod";
import type { State, Undoable } from "../../core/state.ts";
import { failure } from "./recovery.ts";

const at = z.int().nonnegative();
const name = z.string().min(1);

export const ending: z.ZodType<State["ending"]> = z
  .discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("failed"), failure, next: z.enum(["end", "leave"]).exactOptional() }),
    z.looseObject({ kind: z.literal("cancelled") }),
  ])
  .nullable();

export const undo: z.ZodType<readonly Undoable[]> = z.array(
  z.looseObject({ call: name, key: name, from: at.nullable() }),
);

export const saga = z.looseObject({ left: z.array(name) });

export const compensate = z.looseObject({ next: z.enum(["cancel", "restart"]), by: z.string() });
