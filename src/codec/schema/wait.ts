/** The schema of waits in states, events and messages, as `core/wait.ts` has them; see `state.ts`. */
import * as z from "zod";
import type { EventOf } from "../../core/event.ts";
import type { AnswerGiven, AtLimit, EventSignalled, Signal, WaitEvents } from "../../core/wait.ts";
import { json, value } from "./message.ts";

const at = z.int().nonnegative();
const count = z.int().nonnegative();
const name = z.string().min(1);

const atLimit: z.ZodType<AtLimit> = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("tell") }),
  z.looseObject({ kind: z.literal("fail") }),
  z.looseObject({ kind: z.literal("take"), value }),
]);

const terms = {
  for: z.enum(["answer", "event", "time"]),
  event: name.exactOptional(),
  until: at.nullable(),
  atLimit,
  schema: json.exactOptional(),
};

const given = { value, by: z.string() };

export const signal: z.ZodType<Signal> = z.looseObject({ event: name, ...given });

export const wait = {
  ...terms,
  from: at,
  question: z.int().positive(),
  given: z.looseObject(given).exactOptional(),
  refused: z.string().exactOptional(),
};

export const answerGiven = z.looseObject({
  kind: z.literal("answer"),
  call: name,
  question: count,
  ...given,
}) satisfies z.ZodType<AnswerGiven>;

export const eventSignalled = z.looseObject({
  kind: z.literal("signal"),
  event: name,
  ...given,
}) satisfies z.ZodType<EventSignalled>;

export const waitEvents: { readonly [K in keyof WaitEvents]: z.ZodType<EventOf<K>> } = {
  WaitBegun: z.looseObject({
    kind: z.literal("WaitBegun"),
    at,
    call: name,
    epoch: count,
    wait: z.looseObject(terms),
  }),
  InputRefused: z.looseObject({
    kind: z.literal("InputRefused"),
    at,
    call: name,
    question: count,
    by: z.string(),
    why: z.string(),
  }),
  InputIgnored: z.looseObject({
    kind: z.literal("InputIgnored"),
    at,
    for: z.enum(["answer", "event"]),
    name,
    by: z.string(),
    why: z.string(),
  }),
};
