/** Gemini's `generateContent`. */
import { type Frame, type Said, type Wire, argsOf, sse } from "./wire.ts";

const USAGE = {
  ...{ promptTokenCount: 100, cachedContentTokenCount: 70, candidatesTokenCount: 18, thoughtsTokenCount: 12 },
  totalTokenCount: 130,
};

const REASONS = { length: "MAX_TOKENS", filter: "SAFETY", refusal: "PROHIBITED_CONTENT" } as const;

const candidate = (parts: readonly object[], finishReason?: string) => ({
  candidates: [
    { index: 0, content: { role: "model", parts }, ...(finishReason === undefined ? {} : { finishReason }) },
  ],
});

/** Its parts, in the pieces in which they come. */
const partsOf = ({ reasoning, text = [], calls = [] }: Said): readonly object[] => [
  ...(reasoning === undefined ? [] : [{ text: reasoning, thought: true }]),
  ...text.map((piece) => ({ text: piece })),
  ...calls.map((call) => ({
    functionCall: { id: call.id, name: call.tool, args: argsOf(call) },
    thoughtSignature: "signed",
  })),
];

const reasonOf = ({ end, word }: Said): string | undefined =>
  word === undefined ? (end === undefined ? "STOP" : REASONS[end]) : (word ?? undefined);

export const google: Wire = {
  ...{ model: "google:gemini-2.5-pro", secret: "GOOGLE_GENERATIVE_AI_API_KEY", package: "@ai-sdk/google" },
  streamType: "text/event-stream",
  counts: { tokensIn: 100, tokensOut: 30, cacheRead: 70, reasoning: 12 },
  whole: (said) => {
    const { text } = said;
    const parts = partsOf({ ...said, ...(text === undefined ? {} : { text: [text.join("")] }) });
    return JSON.stringify({ ...candidate(parts, reasonOf(said)), usageMetadata: USAGE });
  },
  stream: (said): readonly Frame[] => [
    ...partsOf(said).map((part) => sse(candidate([part]))),
    sse({ ...candidate([], reasonOf(said)), usageMetadata: USAGE }),
  ],
  endFrames: 1,
  isStream: (path) => path.includes(":streamGenerateContent"),
  refusal: (status, message) => JSON.stringify({ error: { code: status, message, status: "ERROR" } }),
  overloaded: (message) => sse({ error: { code: 503, message, status: "UNAVAILABLE" } }),
  unreadable: "call",
  malformedCall: () => [sse({ ...candidate([], "MALFORMED_FUNCTION_CALL"), usageMetadata: USAGE })],
  authorized: ["x-goog-api-key", (key) => key],
};
