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
  /** By provider, such as `{ anthropic: { thinking: { type: "enabled", budgetTokens: 2000 } } }`. Never a secret. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}
