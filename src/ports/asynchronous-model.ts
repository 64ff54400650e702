/**
 * What makes an AI SDK language model asynchronous: a request becomes a job, and the run asks for its result later. A
 * model of one's own has `detached` beside `doGenerate` (docs/models.md). Its methods may throw.
 */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import type { SoughtCall } from "./model.ts";

/** `failed`: the job itself has failed. Throw instead if the provider cannot be asked now. */
export type DetachedState =
  | { readonly kind: "pending" }
  | { readonly kind: "done"; readonly result: LanguageModelV4GenerateResult }
  | { readonly kind: "failed"; readonly error: unknown };

/** `unsure`: the provider cannot say yet whether it has the job. */
export type DetachedSearch =
  | { readonly kind: "found"; readonly reference: string }
  | { readonly kind: "absent" }
  | { readonly kind: "unsure"; readonly why: string };

/** `abortSignal` of the options ends each request; `prompt` is the whole transcript. */
export interface AsynchronousCalls {
  /**
   * Starts a job and returns its reference. The provider should keep the key with the job. An error with a status from
   * 400 to 499 says that this request made no job; after any other error it may have.
   */
  readonly submit: (options: LanguageModelV4CallOptions, key: string) => Promise<string>;
  readonly poll: (options: LanguageModelV4CallOptions, reference: string) => Promise<DetachedState>;
  /** Looks a job up by its key. It was started from `since` to `until`, epoch milliseconds. */
  readonly find?: (options: LanguageModelV4CallOptions, sought: SoughtCall) => Promise<DetachedSearch>;
  readonly cancel?: (options: LanguageModelV4CallOptions, reference: string) => Promise<void>;
  /** The provider makes one job of two requests with one key. */
  readonly honoursKeys?: true;
}

export interface AsynchronousModel extends LanguageModelV4 {
  readonly detached: AsynchronousCalls;
}
