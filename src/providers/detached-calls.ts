/**
 * The adapter from asynchronous AI SDK models to the `DetachedCalls` port. Every answer and error becomes a value. It decides
 * the one question that matters after an error of the start: whether the provider may have the job.
 */
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { bounded, sentenceOf } from "../codec/value.ts";
import type { AsynchronousCalls } from "../ports/asynchronous-model.ts";
import type { ModelFailed, ModelRequest, DetachedCalls, Submitted } from "../ports/model.ts";
import { ModelNotReady } from "../ports/named-models.ts";
import { failedBy } from "./model-failure.ts";
import { replyOf } from "./reply.ts";
import { expectedBy } from "./reply-end.ts";
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

/** The provider may have worked on the job, and its reply cannot be had. */
export class ReplyLost extends Error {
  override readonly name = "ReplyLost";

  constructor(cause: unknown) {
    super(sentenceOf(cause), { cause });
  }
}

/** `open` may reject: nothing has left then. `offers`: what its provider can do. */
export function callsOver(
  open: Open,
  offers: Pick<AsynchronousCalls, "honoursKeys"> & { readonly finds: boolean; readonly cancels: boolean },
): DetachedCalls {
  const { finds, cancels, honoursKeys } = offers;
  return {
    submit: (request, key) => submit(open, { request, key }),
    poll: async (request, reference) => {
      const opened = await opening(open, request);
      if (opened instanceof NotSent) return { kind: "pending", ...unasked(opened, "") };
      const { detached, options, secret } = opened;
      try {
        const state = await detached.poll(options, reference);
        if (state.kind === "done") return replyOf(state.result, expectedBy(options));
        if (state.kind === "failed") return failedDetached(state.error, secret);
        return { kind: "pending", why: "its provider works on it" };
      } catch (error) {
        return { kind: "pending", ...unasked(error, secret) };
      }
    },
    ...(finds && {
      find: async (request, sought) => {
        const opened = await opening(open, request);
        if (opened instanceof NotSent) return { kind: "unsure", ...unasked(opened, "") };
        const { detached, options, secret } = opened;
        try {
          const found = (await detached.find?.(options, sought)) ?? { kind: "absent" };
          return found.kind !== "found" || isReference(found.reference) ? found : { kind: "unsure", why: NO_REFERENCE };
        } catch (error) {
          return { kind: "unsure", ...unasked(error, secret) };
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

const failedDetached = (error: unknown, secret: string): ModelFailed =>
  error instanceof ReplyLost ? { ...failedBy(error.cause, secret), isPartial: true } : failedBy(error, secret);

type Open = (request: ModelRequest) => Promise<OpenedCalls>;

const opening = (open: Open, request: ModelRequest): Promise<OpenedCalls | NotSent> =>
  open(request).catch((error: unknown) => new NotSent(error));

async function submit(
  open: Open,
  { request, key }: { readonly request: ModelRequest; readonly key: string },
): Promise<Submitted> {
  const opened = await opening(open, request);
  // No request was sent, and what prevented it may be temporary.
  if (opened instanceof NotSent) return { ...failedBy(opened.cause, ""), retryable: true };
  const { detached, options, secret } = opened;
  try {
    const reference: unknown = await detached.submit(options, key);
    return isReference(reference) ? { kind: "submitted", reference } : { kind: "unknown", why: NO_REFERENCE };
  } catch (error) {
    if (error instanceof NotSent) return failedBy(error.cause, secret);
    return isNotStarted(error)
      ? failedBy(error, secret)
      : { kind: "unknown", why: failedBy(error, secret).failure.message };
  }
}

/** A model of one's own may be written in JavaScript. A reference that cannot be stored would fail each commit. */
const isReference = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= REFERENCE_CHARACTERS_MAX && value.isWellFormed();

const REFERENCE_CHARACTERS_MAX = 1_024;

const NO_REFERENCE = `it gave no reference: submit and find give a text of 1 to ${REFERENCE_CHARACTERS_MAX} characters`;

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

/** Why the provider could not be asked, in its own words. */
function unasked(error: unknown, secret: string): { readonly why: string; readonly isUnasked: true } {
  const { failure } = failedBy(error instanceof NotSent ? error.cause : error, secret);
  return { why: bounded(failure.message), isUnasked: true };
}
