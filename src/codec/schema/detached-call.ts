/** The schema of jobs of asynchronous models, as `core/detached-call.ts` has them; see `state.ts`. */
import * as z from "zod";
import type { EventOf } from "../../core/event.ts";
import type { DetachedCall, DetachedCallEvents } from "../../core/detached-call.ts";
import { debit } from "./budget.ts";
import { request, routed } from "./message.ts";

const at = z.int().nonnegative();
const name = z.string().min(1);

const begun = {
  key: name,
  model: name,
  epoch: z.int().nonnegative(),
  reserved: debit,
  request,
  routed: routed.exactOptional(),
};

export const detachedCall: z.ZodType<DetachedCall> = z.looseObject({
  at,
  ...begun,
  reference: name.exactOptional(),
});

export const detachedCallEvents: { readonly [K in keyof DetachedCallEvents]: z.ZodType<EventOf<K>> } = {
  DetachedCallBegun: z.looseObject({ kind: z.literal("DetachedCallBegun"), at, ...begun }),
  DetachedCallSubmitted: z.looseObject({
    kind: z.literal("DetachedCallSubmitted"),
    at,
    key: name,
    reference: name,
    adopted: z.literal(true).exactOptional(),
  }),
  DetachedCallEnded: z.looseObject({
    kind: z.literal("DetachedCallEnded"),
    at,
    key: name,
    how: z.enum(["absent", "failed", "cancelled", "unsent", "lost"]),
    why: z.string(),
  }),
};
