/**
 * Jobs at Anthropic: message batches of one message, whose `custom_id` is the key. Batches can be listed, but a batch
 * shows its `custom_id` only in its results, once it has ended. So after a lost answer to the start, a batch of one
 * request that is in progress may be the job, and the run looks again until it has ended.
 */
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import * as z from "zod";
import type { AsynchronousCalls, DetachedSearch } from "../ports/asynchronous-model.ts";
import { type LookUp, SKEW_MS, created, readReply, unlessForgotten, written } from "./detached-parts.ts";
import { type OpenModel, type WireRequest, refusal, sendToProvider } from "./wire-request.ts";

const counts = z.record(z.string(), z.number());
const batch = z.looseObject({
  id: z.string(),
  processing_status: z.string(),
  created_at: z.string(),
  request_counts: counts,
});
const page = z.looseObject({ data: z.array(batch), has_more: z.boolean().nullish(), last_id: z.string().nullish() });
const line = z.looseObject({
  custom_id: z.string(),
  result: z.discriminatedUnion("type", [
    z.looseObject({ type: z.literal("succeeded"), message: z.unknown() }),
    z.looseObject({ type: z.literal("errored"), error: z.unknown() }),
    z.looseObject({ type: z.literal("expired") }),
    z.looseObject({ type: z.literal("canceled") }),
  ]),
});

type Line = z.infer<typeof line>;

/** Batches of one request that a search reads the results of. */
const READ_MAX = 100;
const PAGES_MAX = 10;
const PAGE = 100;

export const anthropicBatch = (open: OpenModel): AsynchronousCalls => ({
  async submit(options, key) {
    const wire = await written(open, options);
    const { stream: _, ...params } = wire.body;
    const body = { requests: [{ custom_id: key, params }] };
    const url = `${wire.url}/batches`;
    const text = await sendToProvider(wire, { method: "POST", url, body, key, signal: options.abortSignal });
    return created.parse(JSON.parse(text)).id;
  },
  async poll(options, reference) {
    const wire = await written(open, options);
    const url = urlOf(wire, reference);
    const text = await unlessForgotten(url, () =>
      sendToProvider(wire, { method: "GET", url, signal: options.abortSignal }),
    );
    if (typeof text !== "string") return text;
    const { processing_status: status } = batch.parse(JSON.parse(text));
    if (status !== "ended") return { kind: "pending" };
    const { result } = await resultOf(wire, reference, options);
    if (result.type === "succeeded") return readReply(open, options, result.message);
    if (result.type !== "errored")
      return { kind: "failed", error: refusal(saying(`it ${result.type}`), { url, status: 503 }) };
    return { kind: "failed", error: errorIn(result.error, url) };
  },
  find: (options, sought) => findBatch(open, { options, sought }),
  async cancel(options, reference) {
    const wire = await written(open, options);
    await sendToProvider(wire, {
      method: "POST",
      url: `${urlOf(wire, reference)}/cancel`,
      signal: options.abortSignal,
    });
  },
});

const urlOf = ({ url }: WireRequest, reference: string): string => `${url}/batches/${encodeURIComponent(reference)}`;

const saying = (message: string): string => JSON.stringify({ error: { message: `the batch: ${message}` } });

/** `{ type: "error", error: { type, message } }`. A request that is invalid would fail again. */
function errorIn(error: unknown, url: string): unknown {
  const { error: inner } = (error ?? {}) as { error?: { type?: unknown; message?: unknown } };
  const isOfRequest = inner?.type === "invalid_request_error";
  return refusal(JSON.stringify({ error: inner ?? { message: "it errored" } }), {
    url,
    status: isOfRequest ? 400 : 500,
  });
}

async function resultOf(wire: WireRequest, reference: string, options: LanguageModelV4CallOptions): Promise<Line> {
  const url = `${urlOf(wire, reference)}/results`;
  const [first = ""] = (await sendToProvider(wire, { method: "GET", url, signal: options.abortSignal })).split("\n");
  return line.parse(JSON.parse(first));
}

/** Reads the results of the batches that may be the job, oldest first: it began soon after its key was committed. */
async function findBatch(open: OpenModel, { options, sought }: LookUp): Promise<DetachedSearch> {
  const wire = await written(open, options);
  const listed = await listBatches(wire, { options, sought });
  const ended = listed.batches.filter((each) => each.processing_status === "ended");
  for (const each of ended.slice(0, READ_MAX)) {
    const { custom_id: key } = await resultOf(wire, each.id, options);
    if (key === sought.key) return { kind: "found", reference: each.id };
  }
  const working = listed.batches.length - ended.length;
  // A batch in progress may be the one that is sought.
  if (working > 0) return { kind: "unsure", why: `${working} batches of one request are in progress` };
  if (ended.length > READ_MAX)
    return { kind: "unsure", why: `more than ${READ_MAX} batches of one request ended since` };
  return listed.isWhole
    ? { kind: "absent" }
    : { kind: "unsure", why: `it is not among the newest ${PAGES_MAX * PAGE} batches` };
}

/** The batches of one request that were created at that time, oldest first. The provider lists the newest first. */
async function listBatches(
  wire: WireRequest,
  { options, sought }: LookUp,
): Promise<{ readonly batches: readonly z.infer<typeof batch>[]; readonly isWhole: boolean }> {
  const [from, to] = [sought.since - SKEW_MS, sought.until + SKEW_MS];
  const found: z.infer<typeof batch>[] = [];
  let after = "";
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const url = `${wire.url}/batches?limit=${PAGE}${after}`;
    const answer = page.parse(
      JSON.parse(await sendToProvider(wire, { method: "GET", url, signal: options.abortSignal })),
    );
    const { data, has_more: hasMore, last_id: last } = answer;
    for (const each of data) {
      const at = Date.parse(each.created_at);
      if (at < from) return { batches: found.toReversed(), isWhole: true };
      const isOne = Object.values(each.request_counts).reduce((sum, count) => sum + count, 0) === 1;
      if (isOne && at <= to) found.push(each);
    }
    if (hasMore !== true || last == null) return { batches: found.toReversed(), isWhole: true };
    after = `&after_id=${encodeURIComponent(last)}`;
  }
  return { batches: found.toReversed(), isWhole: false };
}
