/** Model: one question, one outcome, never an exception. `src/providers` implements it over the AI SDK. */
import type { Failure } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import type { Message } from "../core/message.ts";
import type { Tool } from "./agent.ts";

export interface ModelRequest {
  readonly instructions: string;
  readonly messages: readonly Message[];
  readonly tools: Readonly<Record<string, Tool>>;
  /** Absent: it may call them. Providers want to know the tools of earlier calls also where it may not. */
  readonly mayCall?: boolean;
  readonly signal: AbortSignal;
}

/** A part of a reply before its large arguments are stored. */
export type RepliedPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string; readonly provider: Json }
  | { readonly kind: "call"; readonly tool: string; readonly args: Json; readonly provider: Json }
  /** No tool can perform it: its arguments are no JSON that is kept, or no tool can have that name. */
  | { readonly kind: "badCall"; readonly tool: string; readonly raw: string };

export interface ModelReply {
  readonly kind: "reply";
  /** Empty when the model said nothing. */
  readonly parts: readonly RepliedPart[];
  /** Why it stopped, in the words of the AI SDK: `stop`, `length`, `tool-calls`, `content-filter`, ... */
  readonly finish: string;
  /** 0 where the provider reports none. */
  readonly tokensIn: number;
  readonly tokensOut: number;
}

/** Codes: `ModelRefused`, `ContextTooLong`, `ReplyTooLarge`, and `ModelFailed` for all else. */
export interface ModelFailed {
  readonly kind: "failed";
  readonly failure: Failure;
  /** The same question may be answered later. */
  readonly retryable: boolean;
  /** How long the provider asks to be left alone, or null. */
  readonly retryAfterMs: number | null;
  /** What a reply cost that came and cannot be used. */
  readonly spent?: { readonly tokensIn: number; readonly tokensOut: number };
}

/** `aborted`: the request's own signal fired, and no reply had come. */
export type ModelOutcome = ModelReply | ModelFailed | { readonly kind: "aborted" };

export interface Model {
  /** `provider:model`, for the transcript and the bill. */
  readonly name: string;
  /** Never rejects. A provider that ignores the signal goes on: whoever asks must not wait for it. */
  ask(request: ModelRequest): Promise<ModelOutcome>;
}
