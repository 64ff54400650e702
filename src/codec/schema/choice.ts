/** The schema of choices in states and events, as `core/choice.ts` has it; see `state.ts`. */
import * as z from "zod";
import type { Choice, ChoiceEvents, Chosen } from "../../core/choice.ts";
import type { EventOf } from "../../core/event.ts";
import { value } from "./message.ts";

const count = z.int().nonnegative();
const name = z.string().min(1);

const choice: z.ZodType<Choice> = z.looseObject({
  instructions: value.exactOptional(),
  offered: z.array(name).exactOptional(),
  model: name.exactOptional(),
  options: z.record(z.string(), z.json()).exactOptional(),
});

export const chosen: z.ZodType<Chosen> = z.looseObject({
  choice,
  restart: count,
  agentVersion: z.string(),
  messages: count,
});

export const choiceEvents: { readonly [K in keyof ChoiceEvents]: z.ZodType<EventOf<K>> } = {
  RequestChosen: z.looseObject({ kind: z.literal("RequestChosen"), at: count, choice, stop: name.exactOptional() }),
};
