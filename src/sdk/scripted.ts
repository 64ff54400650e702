/**
 * A model without a network, for demos, tests and benchmarks. It is a function of the conversation, not a list of
 * replies. So a resumed run gets the same reply to the same request in every process, and different tasks give
 * different runs.
 */
import { setTimeout as elapse } from "node:timers/promises";
import {
  type LanguageModelV4,
  type LanguageModelV4Content,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4Prompt,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { type Conversation, conversationOf } from "./conversation.ts";

export type { Conversation };

/** One reply of a scripted model: text, calls, or both. */
export interface ScriptedReply {
  readonly text?: string;
  /** `args` are sent as `JSON.stringify` writes them. */
  readonly calls?: readonly { readonly tool: string; readonly args: unknown }[];
  /** Default: about one token per four characters. */
  readonly tokensIn?: number;
  readonly tokensOut?: number;
  /** How long the model takes to reply, in milliseconds. */
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
  return {
    specificationVersion: "v4",
    provider: "scripted",
    modelId: options.name,
    supportedUrls: {},
    async doGenerate({ prompt, abortSignal }) {
      const conversation = conversationOf(prompt);
      const reply = await options.reply(conversation);
      if (reply.delayMs !== undefined) await elapse(reply.delayMs, undefined, abortSignal && { signal: abortSignal });
      return resultOf(reply, { prompt, turn: conversation.turn });
    },
    async doStream() {
      throw new UnsupportedFunctionalityError({ functionality: "streaming from a scripted model" });
    },
  };
}

function resultOf(
  { text = "", calls = [], ...reply }: ScriptedReply,
  asked: { readonly prompt: LanguageModelV4Prompt; readonly turn: number },
): LanguageModelV4GenerateResult {
  const content: LanguageModelV4Content[] = text === "" ? [] : [{ type: "text", text }];
  for (const [index, { tool, args }] of calls.entries()) {
    const toolCallId = `scripted-${asked.turn}-${index}`;
    content.push({ type: "tool-call", toolCallId, toolName: tool, input: JSON.stringify(args) ?? "" });
  }
  const tokensIn = reply.tokensIn ?? tokensOf(asked.prompt);
  const tokensOut = reply.tokensOut ?? tokensOf(content);
  return {
    content,
    finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop", raw: undefined },
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

const measured = new WeakMap<object, number>();

function charactersOf(each: object): number {
  const known = measured.get(each);
  if (known !== undefined) return known;
  const characters = JSON.stringify(each).length;
  // A message that may still change is measured each time.
  if (Object.isFrozen(each)) measured.set(each, characters);
  return characters;
}
