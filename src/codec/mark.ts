/**
 * What a state comes to, field by field, as short digests: enough to tell that two states are the same, and where they are
 * not. The transcript is digested message by message, each once, and wherever it may be cut into segments.
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import type { Message } from "../core/message.ts";
import type { State } from "../core/state.ts";
import { canonical, sha256 } from "./canonical.ts";

/** The state of a snapshot: the digest of each of its fields. */
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

/** The fields in which they differ. */
export function differences(one: StateMark, other: StateMark): readonly string[] {
  const names = new Set([...Object.keys(one.fields), ...Object.keys(other.fields)]);
  return [...names].filter((name) => one.fields[name] !== other.fields[name]).toSorted();
}

// Messages never change, so what was digested of them once stays true as long as they live.
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
