/** The schemas of recovery decisions and their causes: failures, outages and signals; see `schema.ts`. */
import * as z from "zod";
import type { EventOf, Failure, Outage, Action } from "../../core/event.ts";
import type { ActiveFallback } from "../../core/state.ts";

const at = z.int().nonnegative();
const name = z.string().min(1);

export const failure: z.ZodType<Failure> = z.looseObject({ code: name, message: z.string() });

const count = z.int().nonnegative();

export const outage: z.ZodType<Outage> = z.looseObject({
  since: at,
  tries: count,
  notBefore: at.exactOptional(),
  model: count.exactOptional(),
  alarmed: z.literal(true).exactOptional(),
});

export const fallback: z.ZodType<ActiveFallback> = z.looseObject({ model: count, until: at });

export const action: z.ZodType<Action> = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("retry"), at, outage: outage.exactOptional() }),
  z.looseObject({ kind: z.literal("compact") }),
  z.looseObject({ kind: z.literal("nudge"), say: z.string() }),
  z.looseObject({ kind: z.literal("stop"), failure, say: z.string() }),
  z.looseObject({ kind: z.literal("abort"), failure, next: z.enum(["end", "leave"]).exactOptional() }),
  z.looseObject({ kind: z.literal("compensate") }),
  z.looseObject({ kind: z.literal("undo"), call: name }),
  z.looseObject({ kind: z.literal("restart"), say: z.string() }),
  z.looseObject({ kind: z.literal("again"), call: name }),
  z.looseObject({ kind: z.literal("probe"), call: name, at, tried: z.boolean() }),
  z.looseObject({ kind: z.literal("hold"), to: name.nullable() }),
  z.looseObject({ kind: z.literal("toolBack"), call: name }),
  z.looseObject({ kind: z.literal("tell"), call: name }),
  z.looseObject({ kind: z.literal("cancel") }),
  z.looseObject({ kind: z.literal("takeover"), from: name, takeovers: z.int().nonnegative() }),
]);

export const crackSignalled: z.ZodType<EventOf<"CrackSignalled">> = z.looseObject({
  kind: z.literal("CrackSignalled"),
  at,
  crack: z.enum(["runaway", "oscillation", "prematureStop"]),
  why: z.string(),
});
