/**
 * The adapter from asynchronous AI SDK models to the `DetachedCalls` port. Every answer and error becomes a value. It decides
 * the one question that matters after an error of the start: whether the provider may have the job.
 */
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { bounded, sentenceOf } from "../codec/value.ts";
import type { AsynchronousCalls } from "../ports/asynchronous-model.ts";
import type { ModelRequest } from "../ports/model.ts";
import type { DetachedCalls, Submitted } from "../ports/model.ts";
import { ModelNotReady } from "../ports/named-models.ts";
import { failedBy } from "./model-failure.ts";
import { replyOf } from "./reply.ts";
import { reportedError } from "./reported-error.ts";

/** The jobs of a provider, opened for one request. */
export interface OpenedCalls {
  readonly detached: AsynchronousCalls;
  readonly options: LanguageModelV4CallOptions;
  /** The API key, which a provider may echo; empty if there is none. */
  readonly secret: string;
}

/** No request that starts a job has left. */
export class NotSent extends Error {
  override readonly name = "NotSent";

  constructor(cause: unknown) {
    super(sentenceOf(cause), { cause });
  }
}

/** `open` may reject: nothing has left then. `offers`: what its provider can do. */
export function callsOver(
  open: (request: ModelRequest) => Promise<OpenedCalls>,
  offers: Pick<AsynchronousCalls, "honoursKeys"> & { readonly finds: boolean; readonly cancels: boolean },
): DetachedCalls {
  const { finds, cancels, honoursKeys } = offers;
  return {
    submit: (request, key) => submit(open, { request, key }),
    poll: async (request, reference) => {
      try {
        const { detached, options, secret } = await open(request);
        const state = await detached.poll(options, reference);
        if (state.kind === "done") return replyOf(state.result);
        if (state.kind === "failed") return failedBy(state.error, secret);
        return { kind: "pending", why: "its provider works on it" };
      } catch (error) {
        return { kind: "pending", why: wordsOf(error) };
      }
    },
    ...(finds && {
      find: async (request, sought) => {
        try {
          const { detached, options } = await open(request);
          return (await detached.find?.(options, sought)) ?? { kind: "absent" };
        } catch (error) {
          return { kind: "unsure", why: wordsOf(error) };
        }
      },
    }),
    ...(cancels && {
      cancel: async (request, reference) => {
        const { detached, options } = await open(request);
        await detached.cancel?.(options, reference);
      },
    }),
    ...(honoursKeys === true && { honoursKeys }),
  };
}

async function submit(
  open: (request: ModelRequest) => Promise<OpenedCalls>,
  { request, key }: { readonly request: ModelRequest; readonly key: string },
): Promise<Submitted> {
  const opened = await open(request).catch((error: unknown) => new NotSent(error));
  // No request was sent, and what prevented it may be temporary.
  if (opened instanceof NotSent) return { ...failedBy(opened.cause, ""), retryable: true };
  const { detached, options, secret } = opened;
  try {
    return { kind: "submitted", reference: await detached.submit(options, key) };
  } catch (error) {
    if (error instanceof NotSent) return failedBy(error.cause, secret);
    return isNotStarted(error)
      ? failedBy(error, secret)
      : { kind: "unknown", why: failedBy(error, secret).failure.message };
  }
}

/** The provider refused the start, or no connection to it came about. */
function isNotStarted(error: unknown): boolean {
  if (error instanceof ModelNotReady) return true;
  const status = reportedError(error)?.status ?? 0;
  if (status >= 400 && status < 500) return status !== TIMED_OUT;
  return status === 0 && isUnconnected(error);
}

const TIMED_OUT = 408;

/** Before a connection stands, nothing of the request can have arrived. */
function isUnconnected(error: unknown): boolean {
  for (let each = error, depth = 0; each instanceof Error && depth < CAUSES_MAX; each = each.cause, depth += 1) {
    if (/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/.test(String((each as { code?: unknown }).code)))
      return true;
  }
  return false;
}

const CAUSES_MAX = 8;

const wordsOf = (error: unknown): string => bounded(failedBy(error, "").failure.message);
