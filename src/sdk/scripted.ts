/**
 * A model without a network, for demos, tests and benchmarks. It is a function of the conversation, not a list of
 * replies. So a resumed run gets the same reply to the same request in every process, and different tasks give
 * different runs.
 */
import { DEFINITIONS } from "./definition-forms.ts";
import { checkDefined } from "./option-forms.ts";
import { setTimeout as elapse } from "node:timers/promises";
import type {
  LanguageModelV4,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { type Conversation, conversationOf } from "./conversation.ts";

export type { Conversation };

/** One reply of a scripted model: text, calls, or both. */
export interface ScriptedReply {
  readonly text?: string;
  /** `args` are sent as `JSON.stringify` writes them. */
  readonly calls?: readonly { readonly tool: string; readonly args: unknown }[];
  /** Files that the model makes, such as images. */
  readonly files?: readonly { readonly bytes: Uint8Array; readonly mediaType: string }[];
  /** Default: about one token per four characters. */
  readonly tokensIn?: number;
  readonly tokensOut?: number;
  /** A limit of tokens cuts the reply; the word of the provider for it, such as `max_tokens`. Its calls do not run. */
  readonly cutBy?: string;
  /** How long the model takes to reply, in milliseconds. A reply that is streamed comes word by word in that time. */
  readonly delayMs?: number;
}

/**
 * A model that replies with `reply`, without a network. `name` is its model ID. If `reply` throws, the model call fails,
 * as with any provider.
 *
 * @example
 *   scriptedModel({
 *     name: "greeter-model",
 *     reply: ({ resultOf }) =>
 *       resultOf("sendLetter") === undefined
 *         ? { calls: [{ tool: "sendLetter", args: { to: "Ada" } }] }
 *         : { text: "The letter is on its way." },
 *   });
 */
export function scriptedModel(options: {
  readonly name: string;
  readonly reply: (conversation: Conversation) => ScriptedReply | Promise<ScriptedReply>;
}): LanguageModelV4 {
  checkDefined("scriptedModel", options, DEFINITIONS.scriptedModel);
  return scripted(options);
}

/** The model of checked options. */
export function scripted(options: Parameters<typeof scriptedModel>[0]): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "scripted",
    modelId: options.name,
    supportedUrls: {},
    async doGenerate({ prompt, abortSignal }) {
      const conversation = conversationOf(prompt);
      const reply = await options.reply(conversation);
      await pause(reply.delayMs, abortSignal);
      return resultOf(reply, { prompt, turn: conversation.turn });
    },
    async doStream({ prompt, abortSignal }) {
      const conversation = conversationOf(prompt);
      const reply = await options.reply(conversation);
      const result = resultOf(reply, { prompt, turn: conversation.turn });
      return { stream: streamOf(said(result, { delayMs: reply.delayMs ?? 0, abortSignal })) };
    },
  };
}

async function pause(delayMs: number | undefined, signal: AbortSignal | undefined): Promise<void> {
  if (delayMs !== undefined) await elapse(delayMs, undefined, signal && { signal });
}

const streamOf = <Part>(parts: AsyncGenerator<Part>): ReadableStream<Part> =>
  new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await parts.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await parts.return(undefined)),
  });

/** The reply word by word. The delay is spread over the words. */
async function* said(
  { content, finishReason, usage }: LanguageModelV4GenerateResult,
  { delayMs, abortSignal }: { readonly delayMs: number; readonly abortSignal: AbortSignal | undefined },
): AsyncGenerator<LanguageModelV4StreamPart> {
  const words = content.flatMap((part) => (part.type === "text" ? wordsIn(part.text) : []));
  const wordMs = delayMs === 0 ? undefined : delayMs / Math.max(1, words.length);
  if (words.length === 0) await pause(wordMs, abortSignal);
  yield { type: "stream-start", warnings: [] };
  for (const [index, part] of content.entries()) {
    if (part.type === "text") {
      const id = `text-${index}`;
      yield { type: "text-start", id };
      for (const delta of wordsIn(part.text)) {
        await pause(wordMs, abortSignal);
        yield { type: "text-delta", id, delta };
      }
      yield { type: "text-end", id };
    } else if (part.type === "tool-call") {
      const { toolCallId: id, toolName, input } = part;
      yield { type: "tool-input-start", id, toolName };
      yield { type: "tool-input-delta", id, delta: input };
      yield { type: "tool-input-end", id };
      yield part;
    } else if (part.type === "file") yield part;
  }
  yield { type: "finish", finishReason, usage };
}

const wordsIn = (text: string): readonly string[] => text.match(/\s*\S+\s*/g) ?? [text];

function resultOf(
  { text = "", calls = [], files = [], ...reply }: ScriptedReply,
  asked: { readonly prompt: LanguageModelV4Prompt; readonly turn: number },
): LanguageModelV4GenerateResult {
  const content: LanguageModelV4Content[] = text === "" ? [] : [{ type: "text", text }];
  for (const { bytes, mediaType } of files)
    content.push({ type: "file", mediaType, data: { type: "data", data: bytes } });
  for (const [index, { tool, args }] of calls.entries()) {
    const toolCallId = `scripted-${asked.turn}-${index}`;
    content.push({ type: "tool-call", toolCallId, toolName: tool, input: JSON.stringify(args) ?? "" });
  }
  const tokensIn = reply.tokensIn ?? tokensOf(asked.prompt);
  const tokensOut = reply.tokensOut ?? tokensOf(content);
  return {
    content,
    finishReason:
      reply.cutBy === undefined
        ? { unified: calls.length > 0 ? "tool-calls" : "stop", raw: undefined }
        : { unified: "length", raw: reply.cutBy },
    usage: {
      inputTokens: { total: tokensIn, noCache: tokensIn, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: tokensOut, text: tokensOut, reasoning: 0 },
    },
    warnings: [],
  };
}

const CHARACTERS_PER_TOKEN = 4;

/** The tokens of a list as JSON. Requests of one run share their messages, so each message is measured once. */
function tokensOf(said: LanguageModelV4Prompt | LanguageModelV4Content[]): number {
  const commas = Math.max(0, said.length - 1);
  const characters = said.reduce((sum, each) => sum + charactersOf(each), "[]".length + commas);
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

const isBytes = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "type" in value && value.type === "data" && "data" in value;

const measured = new WeakMap<object, number>();

function charactersOf(each: object): number {
  const known = measured.get(each);
  if (known !== undefined) return known;
  // A provider counts an image by its size in pixels, not by its bytes.
  const characters = JSON.stringify(each, (_, value: unknown) => (isBytes(value) ? null : value)).length;
  // A message that may still change is measured each time.
  if (Object.isFrozen(each)) measured.set(each, characters);
  return characters;
}
