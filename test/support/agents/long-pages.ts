/** An agent whose pages are too long to show, so that a cheaper model summarises them. */
import { z } from "zod";
import { type Conversation, type ScriptedReply, defineAgent, react, scriptedModel, tool } from "../../../src/index.ts";
import type { Event, EventOf } from "../../../src/core/event.ts";
import type { Agent } from "../../../src/ports/agent.ts";

export const page = (number: number): string => `page ${number} ${"is long. ".repeat(4_000)}needle ${number}`;
/** What each summary says. */
export const SUMMARY_WORDS = "It says that the needle is 7.";

interface LongPagesOptions {
  readonly cheap?: (count: number) => ScriptedReply | Promise<ScriptedReply>;
  /** The reply of the working model to what it was shown; default: all of that. */
  readonly answer?: (conversation: Conversation) => ScriptedReply | Promise<ScriptedReply>;
  readonly pages?: number;
  readonly more?: Record<string, unknown>;
  readonly fetched?: (number: number) => string;
}

/** Fetches pages, all in one reply, then answers with what it was shown of them. */
export function longPagesAgent({
  cheap = () => ({ text: SUMMARY_WORDS }),
  pages = 1,
  more = {},
  fetched = page,
  ...of
}: LongPagesOptions = {}) {
  const { answer = ({ messages }) => ({ text: messages.map(({ text }) => text).join("\n") }) } = of;
  const asked: Conversation[] = [];
  const shown: Conversation[] = [];
  const summaries = scriptedModel({
    name: "cheap",
    reply: (conversation) => {
      asked.push(conversation);
      return cheap(asked.length);
    },
  });
  const agent = defineAgent({
    ...{ name: "reader", version: "1", instructions: "Read.", task: z.object({}), topology: react({ maxBeats: 100 }) },
    ...{ price: { inUsd: 1_000, outUsd: 1_000 } },
    models: { cheap: { model: summaries, price: { inUsd: 1, outUsd: 1 } } },
    context: { model: "cheap" },
    results: { summary: true },
    model: scriptedModel({
      name: "own",
      reply: (conversation) => {
        shown.push(conversation);
        if (conversation.messages.at(-1)?.text.startsWith("Summarise") === true) return { text: SUMMARY_WORDS };
        if (conversation.calls.length > 0) return answer(conversation);
        const numbers = Array.from({ length: pages }, (_, index) => index + 1);
        return { calls: numbers.map((number) => ({ tool: "fetch", args: { number } })) };
      },
    }),
    tools: {
      search: tool({ description: "Finds pages.", input: z.object({}), effect: "none", run: () => [] }),
      fetch: tool({
        input: z.object({ number: z.int() }),
        effect: "none",
        run: ({ input: { number } }) => fetched(number),
      }),
    },
    ...more,
  });
  return { agent: agent as Agent, asked, shown };
}

export const resultSummariesIn = (events: readonly Event[]): readonly EventOf<"ResultSummarised">[] =>
  events.flatMap((event) => (event.kind === "ResultSummarised" ? [event] : []));
