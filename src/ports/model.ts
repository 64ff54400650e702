/** Model: one request, one outcome, never an exception. `src/providers` implements it over the AI SDK. */
import type { FileContent } from "../core/file.ts";
import type { Failure } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import type { Message } from "../core/message.ts";
import type { TokenCounts } from "../core/policy/price.ts";
import type { ModelRate } from "../protocol/model-rate.ts";
import type { Tool } from "./agent.ts";
import type { Piece } from "./delta-log.ts";
import type { ModelOptions } from "./model-options.ts";

/** The form of the answer: an object that fits this JSON Schema. */
export interface ResponseFormat {
  readonly name: string;
  readonly schema: { readonly [name: string]: Json };
}

/** A request to a model. */
export interface ModelRequest {
  readonly instructions: string;
  readonly messages: readonly Message[];
  readonly tools: Readonly<Record<string, Tool>>;
  /** Whether the model may call tools; absent: yes. Providers need the tools of earlier calls even if it may not. */
  readonly mayCall?: boolean;
  readonly options?: ModelOptions;
  /** Null or absent: text. */
  readonly format?: ResponseFormat | null;
  /** The bytes of the files that the messages show, by digest, as base64; absent: none has any. */
  readonly files?: ReadonlyMap<string, string>;
  readonly signal: AbortSignal;
  /** Is told what the model says as it says it. Absent: the reply comes as a whole. */
  readonly onPiece?: (piece: Piece) => void;
}

/** A part of a reply before its large arguments are stored. */
export type RepliedPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "file"; readonly content: FileContent }
  | { readonly kind: "reasoning"; readonly text: string; readonly provider: Json }
  | { readonly kind: "call"; readonly tool: string; readonly args: Json; readonly provider: Json }
  /** A call that no tool can perform: its arguments are not JSON within the limits, or no tool can have that name. */
  | { readonly kind: "badCall"; readonly tool: string; readonly raw: string };

/** A reply of a model. Counts of tokens are 0 where the provider reports none. */
export interface ModelReply extends TokenCounts {
  readonly kind: "reply";
  /** Empty when the model said nothing. */
  readonly parts: readonly RepliedPart[];
  /** Why the model stopped, as the AI SDK names it: `stop`, `length`, `tool-calls`, `content-filter`, ... */
  readonly finish: string;
}

/** What is left of a reply that a limit cut. */
export interface CutReply {
  /** The limit, in the word of the provider: `max_tokens`, `length`, ... */
  readonly limit: string;
  /** How many calls it proposed, whole or not. */
  readonly calls: number;
  /** The text that the model can go on with; empty: there is none. */
  readonly parts: readonly Extract<RepliedPart, { readonly kind: "text" }>[];
}

/**
 * Why a provider refuses a request that says nothing about the task. `request`: its form or its size; another request, or
 * another provider, may be accepted. `access`: the key, the credit or the model.
 */
export type Refusal = "request" | "access";

/**
 * A model call that failed. Codes: `ModelRefused`, `ContextTooLong`, `FileUnsupported`; `ReplyTooLarge`, `ReplyFiltered`,
 * `ReplyMalformed`, `ReplyCut` for a reply that came; `PackageMissing`, `ModelNotConfigured` before a request; else `ModelFailed`.
 */
export interface ModelFailed {
  readonly kind: "failed";
  readonly failure: Failure;
  /** The same request may succeed later. */
  readonly retryable: boolean;
  /** How long the provider asks to wait before the next request, in milliseconds; null if it does not say. */
  readonly retryAfterMs: number | null;
  /** The tokens of a reply that came but cannot be used. */
  readonly spent?: TokenCounts;
  /** The provider refuses the request; absent: it does not. */
  readonly refusal?: Refusal;
  /** By how many tokens the request and its reply are above what is allowed at once, where the provider says so. */
  readonly tokensOver?: number;
  /** A limit cut the reply. */
  readonly cut?: CutReply;
  /** The reply broke off, or that of a job cannot be had. It was paid for, and nothing says how much. */
  readonly isPartial?: true;
}

/** `aborted`: the request's own signal fired before a reply came. */
export type ModelOutcome = ModelReply | ModelFailed | { readonly kind: "aborted" };

export interface Model {
  /** `provider:model`, for the transcript and the accounts. */
  readonly name: string;
  /** What its provider allows all runs together. Absent: calls leave at once. */
  readonly rate?: ModelRate;
  /** Never rejects. A provider may ignore the signal and go on, so the caller must not wait for it. */
  ask(request: ModelRequest): Promise<ModelOutcome>;
  /** The model is asynchronous: the replies that plan the next step come from jobs. */
  readonly detached?: DetachedCalls;
}

/** `unknown`: the request may have arrived. */
export type Submitted =
  | { readonly kind: "submitted"; readonly reference: string }
  | ModelFailed
  | { readonly kind: "unknown"; readonly why: string };

/** `unsure`: the provider does not say yet whether it has the job. */
export type FoundDetached =
  | { readonly kind: "found"; readonly reference: string }
  | { readonly kind: "absent" }
  | ({ readonly kind: "unsure" } & Unsettled);

/** `failed`: the job has failed. `pending` is also the answer while the provider cannot be asked. */
export type Polled = ModelReply | ModelFailed | ({ readonly kind: "pending" } & Unsettled);

/** Nothing new is known of the job, and why. */
interface Unsettled {
  readonly why: string;
  /** The provider could not be asked: it refused the request or did not answer it, or the process could not send it. */
  readonly isUnasked?: true;
}

/** A job to look up by its key. It was started from `since` to `until`, in epoch milliseconds by the clock of cairn. */
export interface SoughtCall {
  readonly key: string;
  readonly since: number;
  readonly until: number;
}

/**
 * What an asynchronous model adds: a request becomes a job that its provider works on, and nothing waits for it. No
 * method but `cancel` rejects.
 *
 * The answer to `submit` may be lost. With `find`, the job is looked up by its key, and adopted. With `honoursKeys`, the
 * request is sent again until the provider answers it, and it makes no second job: a refusal of the repeated request says
 * nothing of the first one. With neither, the job counts as lost, is debited at its
 * estimate, and the request is sent as another job.
 */
export interface DetachedCalls {
  readonly submit: (request: ModelRequest, key: string) => Promise<Submitted>;
  /** The request says how to read the reply. Its transcript may have no files. */
  readonly poll: (request: ModelRequest, reference: string) => Promise<Polled>;
  readonly find?: (request: ModelRequest, sought: SoughtCall) => Promise<FoundDetached>;
  /** Best effort. */
  readonly cancel?: (request: ModelRequest, reference: string) => Promise<void>;
  /** Its provider makes one job of two requests with one key. */
  readonly honoursKeys?: true;
}
