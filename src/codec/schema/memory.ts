/** The schema of memory in states and events, as `core/memory.ts` has it; see `state.ts`. */
import * as z from "zod";
import type { EventOf } from "../../core/event.ts";
import type { MemoryEvents, MemoryRef, RunMemory } from "../../core/memory.ts";
import { value } from "./message.ts";

const at = z.int().nonnegative();

const refs: z.ZodType<readonly MemoryRef[]> = z.array(
  z.looseObject({ id: z.string().min(1), digest: z.string().regex(/^[0-9a-f]{64}$/) }),
);

export const memory: z.ZodType<RunMemory> = z.looseObject({
  recalled: z.looseObject({ refs, section: value }).exactOptional(),
  learned: refs,
});

export const memoryEvents: { readonly [K in keyof MemoryEvents]: z.ZodType<EventOf<K>> } = {
  Recalled: z.looseObject({ kind: z.literal("Recalled"), at, refs, section: value }),
  Learned: z.looseObject({ kind: z.literal("Learned"), at, refs }),
};
