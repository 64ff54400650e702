/**
 * The values of a transcript that a model may read in parts: what calls returned, and arguments that are too long to
 * show. The transcript alone decides, so a resumed run and a fork offer and find the same values.
 */
import type { Message, Value } from "../message.ts";

/** The tool that reads these values. No agent may have another tool of this name. */
export const READ_RESULT = "cairn_read";

export type LargeValue = Extract<Value, { kind: "blob" }>;

const DIGEST_CHARACTERS = 16;

/** The beginning of the digest: the model names the value by it. */
export const shortDigest = ({ sha256 }: LargeValue): string => sha256.slice(0, DIGEST_CHARACTERS);

/**
 * Whether the message has a value that is too long to show. Once a transcript has one, it has one for good, so the tools
 * of the requests change once at most.
 */
export const hasLargeValue = ({ parts }: Message): boolean =>
  parts.some(
    (part) =>
      (part.kind === "result" && part.value.kind === "blob") || (part.kind === "call" && part.args.kind === "blob"),
  );

/**
 * The value with that name: the ID of a call for what it returned, or the beginning of the digest of a large value, of 8
 * characters or more. Null if there is none, or more than one.
 */
export function storedValue(messages: readonly Message[], name: string): Value | null {
  const isDigest = /^[0-9a-f]{8,64}$/.test(name);
  const found = new Map<string, Value>();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (part.kind === "result" && part.call === name) return part.value;
    const value = part.kind === "result" ? part.value : part.kind === "call" ? part.args : null;
    if (isDigest && value?.kind === "blob" && value.sha256.startsWith(name)) found.set(value.sha256, value);
  }
  const [only, another] = found.values();
  return another === undefined ? (only ?? null) : null;
}
