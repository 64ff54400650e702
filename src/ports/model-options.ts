/** What an agent may set of the requests to its models. */
import type { Json } from "../core/json.ts";

/** Settings of every request, as the AI SDK names them. What is not set, the provider decides. */
export interface ModelOptions {
  readonly temperature?: number;
  /** Tokens. A reply that reaches them is cut off. */
  readonly maxOutputTokens?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  /** Whether and which tool the model calls, as far as it is offered. Default: it decides (`auto`). */
  readonly toolChoice?: "auto" | "none" | "required" | { readonly type: "tool"; readonly toolName: string };
  /** How much the model reasons, as the AI SDK names it. */
  readonly reasoning?: "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh";
  /** HTTP headers of its requests. They are never recorded, and their values belong into secrets of the environment. */
  readonly headers?: Readonly<Record<string, string>>;
  /** By provider, such as `{ anthropic: { thinking: { type: "enabled", budgetTokens: 2000 } } }`. Never a secret. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}
