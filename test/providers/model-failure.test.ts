/** Every way in which a model can fail, over HTTP: what the recovery table gets, and that no request is sent twice. */
import { APICallError, type LanguageModelV4 } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import type { ModelOutcome, Refusal } from "../../src/ports/model.ts";
import { modelOf } from "../../src/providers/model.ts";
import { scriptedModel } from "../../src/sdk/scripted.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { TIMES } from "../../src/protocol/limits.ts";
import { text } from "../../src/core/message.ts";
import { type ChatAnswer, startChatServer } from "../support/processes/chat-completions.ts";

const request = (signal: AbortSignal = new AbortController().signal) => ({
  instructions: "",
  messages: [{ id: "m1", at: 1, source: "task", role: "user", parts: [text("Hi")], tokens: 0 }] as const,
  tools: {},
  signal,
});

/** The outcome of one request, which must have reached the server once. */
async function answered(answer: ChatAnswer, key = ""): Promise<ModelOutcome> {
  await using server = await startChatServer(() => answer);
  const model = modelOf(`openai-compatible:${server.url}#m`, async () => key);
  const outcome = await model.ask(request());
  expect(server.asked).toHaveLength(1);
  return outcome;
}

const failed = (code: string, message: string | RegExp, retry: { retryable: boolean; retryAfterMs?: number }) => ({
  kind: "failed",
  failure: { code, message: typeof message === "string" ? message : (expect.stringMatching(message) as string) },
  retryAfterMs: null,
  ...retry,
});

/** The words of providers as they are publicly known (2026-11). */
const TOO_LONG: readonly (readonly [string, number, string])[] = [
  ["Ollama", 400, "input length exceeds the context length"],
  ["Ollama, at load", 500, "the prompt is longer than the context window"],
  [
    "LM Studio",
    400,
    "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
  ],
  ["LM Studio, newer", 400, "The number of tokens to keep from the initial prompt is greater than the context length"],
  [
    "llama.cpp",
    400,
    "the request exceeds the available context size. try increasing the context size or enable context shift",
  ],
  ["Kimi", 400, "Invalid request: Your request exceeded model token limit: 8192"],
  ["Kimi, newer", 400, "Input token length too long"],
  ["GLM", 400, "Prompt exceeds max length"],
  ["GLM, in Chinese", 400, "输入内容过长，超出模型上下文长度"],
  ["MiniMax", 400, "invalid params, context window exceeds limit"],
  ["DashScope", 400, "Range of input length should be [1, 30720]"],
  ["DashScope, newer", 400, "This model's maximum context length is 131072 tokens"],
  ["Copilot", 400, "prompt token count of 140000 exceeds the limit of 128000"],
  ["Copilot, by code", 400, "model_max_prompt_tokens_exceeded"],
  [
    "Together",
    422,
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens",
  ],
  ["vLLM", 400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192."],
  [
    "vLLM, newer",
    400,
    "You passed 9000 input tokens and requested 100 output tokens. However, the model's context length is only 8192 tokens",
  ],
  ["SGLang", 400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."],
  [
    "Mistral",
    400,
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
  ],
  ["Cohere", 400, "too many tokens: total number of tokens in the prompt cannot exceed 128000"],
  ["xAI", 400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ["Fireworks", 400, "The prompt is too long: 9000, model maximum context length: 8191"],
  ["DeepSeek", 400, "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens"],
  [
    "OpenRouter",
    400,
    "This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens",
  ],
  ["OpenAI", 400, "Your input exceeds the context window of this model. Please adjust your input and try again."],
  ["Anthropic", 400, "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"],
  ["Anthropic, 413", 413, "Request exceeds the maximum size"],
  ["nginx", 413, "413 Request Entity Too Large"],
  ["Bedrock", 400, "The model returned the following errors: Input is too long for requested model."],
  ["Gemini", 400, "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."],
  [
    "Vertex",
    400,
    "Unable to submit request because the input token count is 40000 but model only supports up to 32768.",
  ],
];

/** Words that are near to those and say something else. */
const NOT_TOO_LONG: readonly (readonly [number, string])[] = [
  [400, "Invalid 'messages[3].name': string does not match pattern"],
  [400, "max_tokens is too large: 999999. This model supports at most 16384 completion tokens"],
  [400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."],
  [400, "context_management: Extra inputs are not permitted"],
  [400, "messages.1.content.0.thinking.signature: Field required"],
  [400, "tools.0.input_schema: JSON schema is invalid"],
  [429, "Number of request tokens has exceeded your per-minute rate limit"],
  [503, "The model is overloaded"],
];

const error = (status: number, more: Partial<Extract<ChatAnswer, { kind: "error" }>> = {}): ChatAnswer => ({
  kind: "error",
  status,
  ...more,
});

describe("a failure that may be retried", () => {
  test.each<[string, ChatAnswer, string | RegExp]>([
    ["throttled", error(429, { message: "Slow down" }), "HTTP 429: Slow down"],
    ["a timeout of the server", error(408), "HTTP 408: no"],
    ["an error of the model that served the request", error(424), "HTTP 424: no"],
    ["a conflict", error(409), "HTTP 409: no"],
    ["an error of the server", error(500, { message: "Oops", code: "internal" }), "HTTP 500: Oops: internal"],
    ["an overloaded server", error(529), "HTTP 529: no"],
    ["a gateway's page", { kind: "raw", status: 502, body: "<html>Bad Gateway</html>" }, /^HTTP 502: .*<html>Bad/],
    ["a connection that closes", { kind: "drop", after: "nothing" }, /^Cannot connect to API/],
    ["an answer that breaks off", { kind: "drop", after: "half" }, /^HTTP 200: /],
    ["an answer that is no JSON", { kind: "raw", body: "<html>" }, "HTTP 200: Invalid JSON response: <html>"],
    ["an answer of another shape", { kind: "raw", body: '{"choices":7}' }, /Invalid JSON response: \{"choices":7\}$/],
    ["an answer without a choice", { kind: "raw", body: '{"choices":[]}' }, /did not contain any choices/],
  ])("%s", async (_, answer, message) => {
    expect(await answered(answer)).toStrictEqual(failed("ModelFailed", message, { retryable: true }));
  });

  test("no server listens", async () => {
    const server = await startChatServer(() => ({ kind: "hang" }));
    await server[Symbol.asyncDispose]();
    const outcome = await modelOf(`openai-compatible:${server.url}#m`).ask(request());
    expect(outcome).toStrictEqual(failed("ModelFailed", /ECONNREFUSED/, { retryable: true }));
  });

  test.each<[string, Record<string, string>, number | null]>([
    ["seconds", { "retry-after": "7" }, 7_000],
    ["parts of a second", { "retry-after": "0.25" }, 250],
    ["milliseconds, which are more exact", { "retry-after": "1", "retry-after-ms": "1200" }, 1_200],
    [
      "a date, read against the server's own clock",
      { "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", date: "Wed, 21 Oct 2015 07:28:00 GMT" },
      30_000,
    ],
    [
      "a date that is over",
      { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT", date: "Wed, 21 Oct 2015 07:28:30 GMT" },
      0,
    ],
    ["nonsense", { "retry-after": "soon" }, null],
    ["nothing", { "retry-after": "" }, null],
    ["for ever", { "retry-after": "9".repeat(400) }, null],
    ["a year", { "retry-after": "31536000" }, TIMES.parkSecondsMax * 1_000],
  ])("retry-after in %s", async (_, headers, retryAfterMs) => {
    expect(await answered(error(429, { headers }))).toMatchObject({ retryable: true, retryAfterMs });
  });
});

/** An error in a response of success, as some gateways send it. */
const within = (fields: object): ChatAnswer => ({ kind: "raw", body: JSON.stringify({ error: fields }) });

describe("a failure that is not retried", () => {
  test.each<[string, ChatAnswer, string, Refusal]>([
    ["a bad request", error(400, { message: "Unknown field" }), "HTTP 400: Unknown field", "request"],
    ["a request that cannot be processed", error(422), "HTTP 422: no", "request"],
    [
      "a wrong key",
      error(401, { message: "Wrong key", code: "invalid_api_key" }),
      "HTTP 401: Wrong key: invalid_api_key",
      "access",
    ],
    ["no credit", error(402), "HTTP 402: no", "access"],
    ["no permission", error(403), "HTTP 403: no", "access"],
    ["an unknown model", error(404), "HTTP 404: no", "access"],
    [
      "no credit, as a bad request",
      error(400, { message: "Your credit balance is too low to access the API" }),
      "HTTP 400: Your credit balance is too low to access the API",
      "access",
    ],
    [
      "no credit, as throttling",
      error(429, { message: "You exceeded your current quota", code: "insufficient_quota" }),
      "HTTP 429: You exceeded your current quota: insufficient_quota",
      "access",
    ],
    ["a status within a response of success", within({ code: 402, message: "Pay" }), "HTTP 402: Pay", "access"],
    [
      "a code within a response of success",
      within({ code: "model_not_found", message: "Gone" }),
      "Gone: model_not_found",
      "access",
    ],
    [
      "a refused form within a response of success",
      within({ type: "invalid_request_error", message: "No" }),
      "No: invalid_request_error",
      "request",
    ],
  ])("%s", async (_, answer, message, refusal) => {
    expect(await answered(answer)).toStrictEqual({ ...failed("ModelRefused", message, { retryable: false }), refusal });
  });

  test("an error of the server within a response of success is retried", async () => {
    expect(await answered(within({ code: 503, message: "Busy" }))).toMatchObject({ retryable: true });
    expect(await answered(within({ message: "Odd" }))).toMatchObject({ retryable: true });
  });

  test.each(TOO_LONG)("a context that is too long, as %s says it", async (_, status, message) => {
    const expected = { failure: { code: "ContextTooLong" }, retryable: false, refusal: "request" };
    expect(await answered(error(status, { message }))).toMatchObject(expected);
  });

  test.each(NOT_TOO_LONG)("no context that is too long: %s", async (status, message) => {
    const outcome = await answered(error(status, { message }));
    expect(outcome).not.toMatchObject({ failure: { code: "ContextTooLong" } });
  });

  test("a request that asks for more than its limit is too long, however long one waits", async () => {
    const groq =
      "Request too large for model `m` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce";
    const openai = "Rate limit reached for m on tokens per min (TPM): Limit 30,000, Used 2, Requested 39,413.";
    for (const [status, message] of [
      [413, groq],
      [429, groq],
      [429, openai],
    ] as const) {
      const outcome = await answered(error(status, { message, headers: { "retry-after": "6" } }));
      const tokensOver = message === groq ? 2_137 : 9_413;
      expect(outcome).toMatchObject({ failure: { code: "ContextTooLong" }, refusal: "request", tokensOver });
    }
  });

  test("a request that fits into its limit later is sent again then", async () => {
    const message = "Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 8000.";
    const throttled = await answered(error(429, { message, headers: { "retry-after": "6" } }));
    expect(throttled).toMatchObject({ retryable: true, retryAfterMs: 6_000 });
    const large = await answered(error(413, { message: "Too large now", headers: { "retry-after": "6" } }));
    expect(large).toMatchObject({ retryable: true, retryAfterMs: 6_000 });
  });

  test.each<[string, ChatAnswer]>([
    ["OpenAI", error(400, { message: "Too much.", code: "context_length_exceeded" })],
    [
      "vLLM",
      error(400, { message: "This model's maximum context length is 4096 tokens. However, you requested 5000." }),
    ],
    ["Anthropic", error(400, { message: "prompt is too long: 208310 tokens > 200000 maximum" })],
    ["Bedrock", error(400, { message: "Input is too long for requested model." })],
    ["Gemini", error(400, { message: "The input token count (1048577) exceeds the maximum number of tokens allowed" })],
    ["llama.cpp", error(500, { message: "the request exceeds the available context size, try increasing it" })],
    ["another shape of error", { kind: "raw", status: 400, body: '{"detail":"maximum context length is 8192"}' }],
  ])("a context that is too long, in the provider's message %s", async (_, answer) => {
    expect(await answered(answer)).toMatchObject({ failure: { code: "ContextTooLong" }, retryable: false });
  });

  test("except a throttling error that mentions the context", async () => {
    const answer = error(429, { message: "exceeds the context tokens per minute" });
    expect(await answered(answer)).toMatchObject({ failure: { code: "ModelFailed" }, retryable: true });
  });

  test.each([
    ["statusCode", { statusCode: 403 }, "access"],
    ["status", { status: 422, code: "bad" }, "request"],
    ["the metadata of the AWS SDK", { $metadata: { httpStatusCode: 400 } }, "request"],
  ])("an error of a provider's own client, with its status in %s", async (_, fields, refusal) => {
    const reply = (): never => {
      throw Object.assign(new Error("not allowed"), fields);
    };
    const outcome = await modelOf(scriptedModel({ name: "own", reply })).ask(request());
    expect(outcome).toMatchObject({ failure: { code: "ModelRefused" }, retryable: false, refusal });
  });

  test("an error that a model object throws itself", async () => {
    const model = modelOf(
      scriptedModel({
        name: "broken",
        reply: () => {
          throw new Error("no such script");
        },
      }),
    );
    expect(await model.ask(request())).toStrictEqual(failed("ModelFailed", "no such script", { retryable: false }));
  });
});

describe("the message", () => {
  const messageOf = (outcome: ModelOutcome): string => (outcome.kind === "failed" ? outcome.failure.message : "");

  test("is bounded and ends with a whole character", async () => {
    const message = messageOf(await answered(error(400, { message: "😀".repeat(5_000) })));
    expect(message.length).toBeLessThanOrEqual(SIZES.errorCharactersMax + 1);
    expect(messageOf(await answered(error(400, { message: ".😀\ud800".repeat(5_000) }))).isWellFormed()).toBe(true);
  });

  test.each([
    ["the key that we sent", "the key correct-horse-battery is unknown", "the key [removed] is unknown"],
    ["a key", "Incorrect API key provided: sk-proj-a1B2****c3D4.", "Incorrect API key provided: [removed]"],
    ["a token", "refused: Bearer abcdef.ghijkl-mnop", "refused: Bearer [removed]"],
    ["a header", 'got {"Authorization":"Basic dXNlcjpwYXNz"}', 'got {"Authorization":"[removed]"}'],
    ["another header", "x-api-key: 12345 is not valid", "x-api-key: [removed] is not valid"],
    ["nothing else", "the task-based bearer of news", "the task-based bearer of news"],
  ])("does not show %s", async (_, said, shown) => {
    const message = messageOf(await answered(error(400, { message: said }), "correct-horse-battery"));
    expect(message).toBe(`HTTP 400: ${shown}`);
  });
});

describe("the abort signal of a request", () => {
  test("that fired before prevents the request", async () => {
    await using server = await startChatServer(() => ({ kind: "reply", text: "late" }));
    const outcome = await modelOf(`openai-compatible:${server.url}#m`).ask(request(AbortSignal.abort()));
    expect(outcome).toStrictEqual({ kind: "aborted" });
    expect(server.asked).toHaveLength(0);
  });

  test("that fires while the model thinks ends the call", async () => {
    await using server = await startChatServer(() => ({ kind: "hang" }));
    const stop = new AbortController();
    const arrived = server.nextAsked();
    const outcome = modelOf(`openai-compatible:${server.url}#m`).ask(request(stop.signal));
    await arrived;
    stop.abort();
    expect(await outcome).toStrictEqual({ kind: "aborted" });
  });

  test("does not discard a reply that arrived nevertheless", async () => {
    const stop = new AbortController();
    const reply = () => {
      stop.abort();
      return { text: "done" };
    };
    const outcome = await modelOf(scriptedModel({ name: "deaf", reply })).ask(request(stop.signal));
    expect(outcome).toMatchObject({ kind: "reply", parts: [{ kind: "text", text: "done" }] });
  });

  test("is distinguished from the provider's own timeout, which may be retried", async () => {
    const reply = () => Promise.reject(new DOMException("timed out", "TimeoutError"));
    const outcome = await modelOf(scriptedModel({ name: "slow", reply })).ask(request());
    expect(outcome).toStrictEqual(failed("ModelFailed", "timed out", { retryable: true }));
  });
});

describe("a model object", () => {
  const throwing = (thrown: unknown): LanguageModelV4 =>
    scriptedModel({ name: "throwing", reply: () => Promise.reject(thrown) });

  test.each<[string, unknown, boolean]>([
    ["an error of the AI SDK that may be retried", call({ isRetryable: true }), true],
    ["an error of the AI SDK that may not", call({ isRetryable: false }), false],
    ["what fetch throws", new TypeError("fetch failed", { cause: new Error("refused") }), true],
    ["a broken connection", Object.assign(new Error("reset"), { code: "ECONNRESET" }), true],
    ["something that is no error", "words", false],
  ])("that throws %s", async (_, thrown, retryable) => {
    expect(await modelOf(throwing(thrown)).ask(request())).toMatchObject({ kind: "failed", retryable });
  });

  function call(options: { isRetryable: boolean }): APICallError {
    return new APICallError({ message: "no", url: "http://host", requestBodyValues: {}, statusCode: 400, ...options });
  }
});
