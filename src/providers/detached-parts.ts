/** What the jobs of all providers have in common. */
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import * as z from "zod";
import type { DetachedState } from "../ports/asynchronous-model.ts";
import type { SoughtCall } from "../ports/model.ts";
import { NotSent, ReplyLost } from "./detached-calls.ts";
import { type OpenModel, type WireRequest, readResponse, refusal, wireRequest } from "./wire-request.ts";

/** How much the clocks of a provider and of this machine may differ, in milliseconds. */
export const SKEW_MS = 5 * 60_000;

/** A request to look a job up. */
export interface LookUp {
  readonly options: LanguageModelV4CallOptions;
  readonly sought: SoughtCall;
}

/** The answer to the start of a job. */
export const created = z.looseObject({ id: z.string() });

/** The request as the provider's package writes it. Throws `NotSent`. */
export async function written(open: OpenModel, options: LanguageModelV4CallOptions): Promise<WireRequest> {
  try {
    return await wireRequest(open, options);
  } catch (error) {
    throw new NotSent(error);
  }
}

/** The reply in this body of a response. */
export async function readReply(
  open: OpenModel,
  options: LanguageModelV4CallOptions,
  body: unknown,
): Promise<DetachedState> {
  try {
    return { kind: "done", result: await readResponse(open, options, body) };
  } catch (error) {
    // The same body would be read in the same way again.
    return { kind: "failed", error: new ReplyLost(error) };
  }
}

/** A provider that does not know the job any more has no reply for it. It may have been paid for. */
export async function unlessForgotten(url: string, ask: () => Promise<string>): Promise<string | DetachedState> {
  try {
    return await ask();
  } catch (error) {
    const { statusCode } = error as { statusCode?: unknown };
    if (statusCode !== 404) throw error;
    const body = JSON.stringify({ error: { message: "the provider does not know the job any more" } });
    return { kind: "failed", error: new ReplyLost(refusal(body, { url, status: 503 })) };
  }
}
