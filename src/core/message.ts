/**
 * The transcript of a run: one record per message, with its metadata. Parallel arrays of messages and of metadata would
 * drift apart: on reload they lose times and sources.
 */
import type { FileRef } from "./file.ts";
import type { Json } from "./json.ts";
import type { OutsideWork } from "./outside.ts";

/** A value of any size: inline, or a reference to a blob with its first and last characters for a reader. */
export type Value =
  | { readonly kind: "inline"; readonly json: Json }
  | {
      readonly kind: "blob";
      readonly sha256: string;
      readonly bytes: number;
      readonly head: string;
      readonly tail: string;
    };

/** How a call was settled. `unknown`: neither success nor failure could be established. */
export type CallOutcome = "succeeded" | "failed" | "unknown";

/** One part of a message. */
export type Part =
  | { readonly kind: "text"; readonly text: string }
  /** A file of the task, of a message, or that the model made. */
  | FileRef
  /** The model's own reasoning with the provider's opaque metadata. Some providers require it in the next request. */
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
      /** The arguments that a human set in place of the model's; null if the call ran as the model proposed it. */
      readonly edited: Value | null;
      /** The business key of the agent that the call was released under, and the digest of its arguments. */
      readonly under?: { readonly key: string; readonly argsDigest: string };
      /** The files that the call returned; absent without any. */
      readonly files?: readonly FileRef[];
      /** What child runs did outside for a hand-off that did not succeed; absent where nothing of it stands. */
      readonly outside?: OutsideWork;
    };

/** One record of the transcript. */
export interface Message {
  /** `m1`, `m2`, ... in the order of the transcript. */
  readonly id: string;
  /** When it was created, in epoch milliseconds. */
  readonly at: number;
  /** The author: `task`, `model:NAME`, `tool:NAME`, `check:NAME`, `user:NAME`, `cairn`, `cairn:summary`, `cairn:section`. */
  readonly source: string;
  readonly role: "user" | "assistant" | "tool";
  readonly parts: readonly Part[];
  /** Tokens that the model reported for it; 0 if it reported none. */
  readonly tokens: number;
  /** The reply to a request that was nearly as long as the agent allows. */
  readonly nearLimit?: true;
  /** The beginning of a reply that a limit cut. The next reply goes on with it. */
  readonly cut?: true;
}

export const text = (content: string): Part => ({ kind: "text", text: content });

export const inline = (json: Json): Value => ({ kind: "inline", json });

/** The text parts, joined by line breaks. */
export function wordsOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");
}

/**
 * The text of the message, after that of the cut replies which it goes on with; empty if there is no such message.
 */
export function textOf(messages: readonly Message[], id: string): string {
  const at = messages.findIndex((message) => message.id === id);
  let words = wordsOf(messages[at]?.parts ?? []);
  for (let index = at - 1; index >= 0; index -= 1) {
    const { role, cut, parts } = messages[index] as Message;
    if (role === "assistant" && cut === true) words = wordsOf(parts) + words;
    else if (role !== "user") break;
  }
  return words;
}

/** Model providers refuse a message without text, so the run that got one would fail. */
export const hasText = (text: string): boolean => text.trim() !== "";
