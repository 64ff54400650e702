/**
 * Jobs at OpenAI: background responses, and batches of one response. A response cannot be looked up by a key: if the
 * answer to its start is lost, it may run on unread. A batch has the key in its metadata, and batches can be listed.
 */
import * as z from "zod";
import type { AsynchronousCalls, DetachedSearch } from "../ports/asynchronous-model.ts";
import { type LookUp, SKEW_MS, created, readReply, unlessForgotten, written } from "./detached-parts.ts";
import { NotSent } from "./detached-calls.ts";
import { type OpenModel, type WireRequest, refusal, sendToProvider } from "./wire-request.ts";

/** The name of the metadata that holds the key. */
const KEY = "cairn_call";
const PAGES_MAX = 20;
const PAGE = 100;

const reported = z.looseObject({ code: z.string().nullish(), message: z.string().nullish() });
const responseState = z.looseObject({ status: z.string(), error: reported.nullish() });

export const openaiBackground = (open: OpenModel): AsynchronousCalls => ({
  async submit(options, key) {
    const wire = await written(open, options);
    const { headers, url, body } = wire;
    const metadata = { ...(body.metadata as object | undefined), [KEY]: key };
    // A response that is not stored could not be asked for.
    const asked = { ...body, background: true, store: true, metadata };
    const text = await sendToProvider(
      { headers },
      { method: "POST", url, body: asked, key, signal: options.abortSignal },
    );
    return created.parse(JSON.parse(text)).id;
  },
  async poll(options, reference) {
    const { headers, url } = await written(open, options);
    const at = `${url}/${encodeURIComponent(reference)}`;
    const text = await unlessForgotten(at, () =>
      sendToProvider({ headers }, { method: "GET", url: at, signal: options.abortSignal }),
    );
    if (typeof text !== "string") return text;
    const body = responseState.parse(JSON.parse(text));
    if (body.status === "queued" || body.status === "in_progress") return { kind: "pending" };
    if (body.status === "completed" || body.status === "incomplete") return readReply(open, options, body);
    const status = body.error?.code === "rate_limit_exceeded" ? 429 : isOfRequest(body.error?.code) ? 400 : 500;
    return { kind: "failed", error: refusal(text, { url: at, status }) };
  },
  async cancel(options, reference) {
    const { headers, url } = await written(open, options);
    const at = `${url}/${encodeURIComponent(reference)}/cancel`;
    await sendToProvider({ headers }, { method: "POST", url: at, signal: options.abortSignal });
  },
});

/** Whether the request itself is at fault. */
const isOfRequest = (code: string | null | undefined): boolean =>
  /^invalid|_too_|_not_found$|unsupported/.test(code ?? "");

const batch = z.looseObject({
  id: z.string(),
  status: z.string(),
  created_at: z.number(),
  metadata: z.record(z.string(), z.string()).nullish(),
  output_file_id: z.string().nullish(),
  error_file_id: z.string().nullish(),
  errors: z.looseObject({ data: z.array(reported).nullish() }).nullish(),
});
const page = z.looseObject({ data: z.array(batch), has_more: z.boolean().nullish() });
const line = z.looseObject({
  response: z.looseObject({ status_code: z.number(), body: z.unknown() }).nullish(),
  error: reported.nullish(),
});

const ENDPOINT = "/v1/responses";

export const openaiBatch = (open: OpenModel): AsynchronousCalls => ({
  async submit(options, key) {
    const wire = await written(open, options);
    const signal = options.abortSignal;
    const row = JSON.stringify({ custom_id: key, method: "POST", url: ENDPOINT, body: wire.body });
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", new Blob([`${row}\n`], { type: "application/jsonl" }), `${key}.jsonl`);
    // A file alone starts nothing.
    const file = await sendToProvider(wire, { method: "POST", url: rootOf(wire, "/files"), body: form, signal }).catch(
      (error: unknown) => {
        throw new NotSent(error);
      },
    );
    const asked = {
      input_file_id: created.parse(JSON.parse(file)).id,
      endpoint: ENDPOINT,
      completion_window: "24h",
      metadata: { [KEY]: key },
    };
    const url = rootOf(wire, "/batches");
    return created.parse(JSON.parse(await sendToProvider(wire, { method: "POST", url, body: asked, key, signal }))).id;
  },
  async poll(options, reference) {
    const wire = await written(open, options);
    const signal = options.abortSignal;
    const url = rootOf(wire, `/batches/${encodeURIComponent(reference)}`);
    const text = await unlessForgotten(url, () => sendToProvider(wire, { method: "GET", url, signal }));
    if (typeof text !== "string") return text;
    const found = batch.parse(JSON.parse(text));
    if (PENDING.has(found.status)) return { kind: "pending" };
    const file = found.output_file_id ?? found.error_file_id ?? null;
    if (file === null) return { kind: "failed", error: withoutLine(found, url) };
    const at = rootOf(wire, `/files/${encodeURIComponent(file)}/content`);
    const [first = "{}"] = (await sendToProvider(wire, { method: "GET", url: at, signal })).split("\n");
    const { response, error } = line.parse(JSON.parse(first));
    if (response?.status_code === 200) return readReply(open, options, response.body);
    const status = response?.status_code ?? (error?.code === "batch_expired" ? 503 : 500);
    return { kind: "failed", error: refusal(JSON.stringify(response?.body ?? { error }), { url, status }) };
  },
  find: (options, sought) => findBatch(open, { options, sought }),
  async cancel(options, reference) {
    const wire = await written(open, options);
    const url = rootOf(wire, `/batches/${encodeURIComponent(reference)}/cancel`);
    await sendToProvider(wire, { method: "POST", url, signal: options.abortSignal });
  },
});

const PENDING: ReadonlySet<string> = new Set(["validating", "in_progress", "finalizing", "cancelling"]);

/**
 * The batch ended without a line: it failed as a whole, expired or was cancelled. Only a failed one is at fault, unless
 * it found the account's queue of batches full: OpenAI takes such a batch first, and fails it afterwards.
 */
function withoutLine({ status, errors }: z.infer<typeof batch>, url: string): unknown {
  const { code, message } = errors?.data?.[0] ?? {};
  const body = { error: { message: message ?? `the batch is ${status}`, ...(code && { code }) } };
  const refused = code === QUEUE_IS_FULL ? 429 : 400;
  return refusal(JSON.stringify(body), { url, status: status === "failed" ? refused : 503 });
}

/** As many tokens as the account may have in batches wait already. */
const QUEUE_IS_FULL = "token_limit_exceeded";

/** Lists batches, newest first, back to the time before which it was not started. */
async function findBatch(open: OpenModel, { options, sought }: LookUp): Promise<DetachedSearch> {
  const wire = await written(open, options);
  let after = "";
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const url = rootOf(wire, `/batches?limit=${PAGE}${after}`);
    const text = await sendToProvider(wire, { method: "GET", url, signal: options.abortSignal });
    const { data, has_more: hasMore = false } = page.parse(JSON.parse(text));
    const found = data.find(({ metadata }) => metadata?.[KEY] === sought.key);
    if (found !== undefined) return { kind: "found", reference: found.id };
    const last = data.at(-1);
    if (hasMore !== true || last === undefined || last.created_at * 1_000 < sought.since - SKEW_MS)
      return { kind: "absent" };
    after = `&after=${encodeURIComponent(last.id)}`;
  }
  return { kind: "unsure", why: `it is not among the newest ${PAGES_MAX * PAGE} batches` };
}

const rootOf = ({ url }: WireRequest, path: string): string => `${url.replace(/\/responses$/, "")}${path}`;
