/**
 * Marks: short digests of a state's fields. Comparing two marks shows whether two states are equal and which fields
 * differ. The transcript is digested message by message, so the mark does not depend on how it is cut into segments.
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import type { Message } from "../core/message.ts";
import type { State } from "../core/state.ts";
import { canonical, sha256 } from "./canonical.ts";

/** The digest of each field of a snapshot's state. */
export interface StateMark {
  readonly version: number;
  readonly fields: Readonly<Record<string, string>>;
}

export const stateMark: z.ZodType<StateMark> = z.object({
  version: z.int().nonnegative(),
  fields: z.record(z.string(), z.string()),
});

const CHARACTERS = 16;

export function markOf(version: number, { messages, ...rest }: State): StateMark {
  const fields = Object.entries(rest).flatMap(([name, field]) =>
    field === undefined ? [] : [[name, sha256(canonical(field)).slice(0, CHARACTERS)] as const],
  );
  return { version, fields: { ...Object.fromEntries(fields), messages: transcriptDigest(messages) } };
}

/** The names of the fields in which two states differ, sorted. */
export function differences(one: StateMark, other: StateMark): readonly string[] {
  const names = new Set([...Object.keys(one.fields), ...Object.keys(other.fields)]);
  return [...names].filter((name) => one.fields[name] !== other.fields[name]).toSorted();
}

// Messages are immutable, so cached digests stay valid.
const known = new WeakMap<Message, Uint8Array>();

function transcriptDigest(messages: readonly Message[]): string {
  const hash = createHash("sha256");
  for (const message of messages) hash.update(digestOf(message));
  return hash.digest("hex").slice(0, CHARACTERS);
}

function digestOf(message: Message): Uint8Array {
  const found = known.get(message);
  if (found !== undefined) return found;
  const digest = createHash("sha256").update(canonical(message)).digest();
  known.set(message, digest);
  return digest;
}
