/** The schema of child runs in states, events and messages, as `core/child.ts` has them; see `state.ts`. */
import * as z from "zod";
import type { Child, ChildEvents, ChildReport } from "../../core/child.ts";
import type { EventOf } from "../../core/event.ts";
import { grant, spent } from "./budget.ts";
import { value } from "./message.ts";
import { outsideWork } from "./outside.ts";

const at = z.int().nonnegative();
const count = z.int().nonnegative();
const name = z.string().min(1);

const end = { status: z.enum(["completed", "failed", "cancelled"]), value };

const entry = {
  call: z.string(),
  try: z.int().positive(),
  agent: z.string(),
  grant,
  deadline: at.nullable(),
  left: z.literal(true).exactOptional(),
};

export const expectedAnswer = z.looseObject({
  schema: z.json().exactOptional(),
  mayEcho: z.literal(true).exactOptional(),
  tries: z.int().positive(),
  returned: z.int().positive().exactOptional(),
  after: z
    .looseObject({ failure: z.looseObject({ code: name, message: z.string() }), messages: count.exactOptional() })
    .exactOptional(),
});

export const child: z.ZodType<Child> = z.looseObject({
  id: name,
  ...entry,
  superseded: z.boolean(),
  late: z.literal(true).exactOptional(),
  made: z.literal(true).exactOptional(),
  askedToStop: z.literal(true).exactOptional(),
  dispatch: z.int().min(2).exactOptional(),
  isContinuing: z.literal(true).exactOptional(),
  messages: count.exactOptional(),
  settlesAt: at.exactOptional(),
});

export const dispatched = {
  try: z.int().positive(),
  report: z.looseObject(end).exactOptional(),
  over: z.literal(true).exactOptional(),
  late: z.literal(true).exactOptional(),
  continued: z.int().positive().exactOptional(),
};

export const childReport = z.looseObject({
  kind: z.literal("child"),
  child: name,
  ...end,
  spent,
  outside: outsideWork.exactOptional(),
}) satisfies z.ZodType<ChildReport>;

export const childEvents: { readonly [K in keyof ChildEvents]: z.ZodType<EventOf<K>> } = {
  ChildDispatched: z.looseObject({ kind: z.literal("ChildDispatched"), at, child: name, epoch: count, ...entry }),
  ChildStarted: z.looseObject({ kind: z.literal("ChildStarted"), at, child: name }),
  ChildSuperseded: z.looseObject({
    kind: z.literal("ChildSuperseded"),
    at,
    call: name,
    child: name,
    why: z.string(),
    awaited: z.literal(true).exactOptional(),
  }),
  ChildContinued: z.looseObject({
    kind: z.literal("ChildContinued"),
    at,
    call: name,
    child: name,
    dispatch: z.int().min(2),
    deadline: at,
    messages: count,
    why: z.string(),
    settlesAt: at.exactOptional(),
  }),
  ChildResumed: z.looseObject({ kind: z.literal("ChildResumed"), at, child: name }),
  ChildAskedToStop: z.looseObject({ kind: z.literal("ChildAskedToStop"), at, child: name }),
  ChildNeverMade: z.looseObject({ kind: z.literal("ChildNeverMade"), at, call: z.string(), child: name }),
};
