/**
 * The transcript. One record per message, so that its metadata cannot drift from it: parallel arrays of messages and
 * of their metadata lose times and sources on reload, and only there (seed 0).
 */
import type { Json } from "./json.ts";

/** A value of any size: as it is, or a reference to a blob with what a reader needs to judge it. */
export type Value =
  | { readonly kind: "inline"; readonly json: Json }
  | {
      readonly kind: "blob";
      readonly sha256: string;
      readonly bytes: number;
      readonly head: string;
      readonly tail: string;
    };

export type CallOutcome = "succeeded" | "failed" | "unknown";

export type Part =
  | { readonly kind: "text"; readonly text: string }
  /** A model's own thinking, kept because some providers want it back, with their opaque metadata. */
  | { readonly kind: "reasoning"; readonly text: string; readonly provider: Json }
  | {
      readonly kind: "call";
      readonly call: string;
      readonly tool: string;
      readonly args: Value;
      readonly provider: Json;
    }
  | {
      readonly kind: "result";
      readonly call: string;
      readonly tool: string;
      readonly outcome: CallOutcome;
      readonly value: Value;
      /** What it was run with, where a person changed that; null where it is what the model asked for. */
      readonly edited: Value | null;
      /** The agent's own key that it was released under, and the digest of its arguments. */
      readonly under?: { readonly key: string; readonly argsDigest: string };
    };

export interface Message {
  /** `m1`, `m2`, ... in the order of the transcript. */
  readonly id: string;
  /** When it came to be, epoch milliseconds. */
  readonly at: number;
  /** Who made it: `task`, `model:NAME`, `tool:NAME`, `check:NAME`, `cairn`, `cairn:summary`. */
  readonly source: string;
  readonly role: "user" | "assistant" | "tool";
  readonly parts: readonly Part[];
  /** Tokens that the model reported for it, 0 where it reported none. */
  readonly tokens: number;
  /** A reply whose question was nearly as long as the agent allows. */
  readonly crowded?: true;
}

export const text = (content: string): Part => ({ kind: "text", text: content });

export const inline = (json: Json): Value => ({ kind: "inline", json });

/** What the parts say in words. */
export function wordsOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");
}
