/** An agent whose model has a small context: it reads page after page and gets an error for too long requests. */
import { APICallError, type LanguageModelV4, type LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { z } from "zod";
import type { Agent } from "../../../src/ports/agent.ts";
import { type Conversation, type ScriptedReply, check, defineAgent, scriptedModel, tool } from "../../../src/index.ts";

export const isForSummary = ({ messages }: Pick<Conversation, "messages">): boolean =>
  messages.at(-1)?.text.startsWith("Your context has to be made shorter") === true;

/** A provider's response to a request that is too long. */
export const tooLong = (): APICallError =>
  new APICallError({
    ...{ message: "prompt is too long: 8200 tokens", url: "http://model.test", requestBodyValues: {} },
    ...{ statusCode: 400, isRetryable: false },
  });

export const SUMMARY: ScriptedReply = { text: "The first pages are read.", tokensIn: 70, tokensOut: 7 };

export interface SmallContextOptions {
  readonly pages?: number;
  /** Whether a request that does not ask for a summary is too long. */
  readonly refuses?: (conversation: Conversation) => boolean;
  readonly summary?: (count: number) => ScriptedReply | Promise<ScriptedReply>;
  readonly reply?: (conversation: Conversation) => ScriptedReply | Promise<ScriptedReply> | null;
  readonly options?: Partial<Parameters<typeof defineAgent>[0]>;
}

/** Two replies with their results exceed the limit. */
export const afterTwoReplies = ({ turn }: Conversation): boolean => turn > 1;

const page = (of: number): ScriptedReply => ({
  ...{ calls: [{ tool: "read", args: { page: of } }], tokensIn: 100, tokensOut: 10 },
});

/** `asked`: every request as the provider got it. `summaries`: how many of them asked for a summary. */
export function smallContextAgent(of: SmallContextOptions = {}) {
  const { pages = 4, refuses = afterTwoReplies, summary = () => SUMMARY, reply = () => null, options = {} } = of;
  const asked: LanguageModelV4CallOptions[] = [];
  const counts = { summaries: 0 };
  const next = ({ calls }: Conversation): ScriptedReply => {
    const last = (calls.at(-1)?.args as { readonly page?: number } | undefined)?.page ?? -1;
    return last + 1 < pages ? page(last + 1) : { text: "all is read", tokensIn: 100, tokensOut: 10 };
  };
  const scripted = scriptedModel({
    name: "narrow",
    reply: (conversation) => {
      if (isForSummary(conversation)) {
        counts.summaries += 1;
        return summary(counts.summaries);
      }
      if (refuses(conversation)) throw tooLong();
      return reply(conversation) ?? next(conversation);
    },
  });
  const model: LanguageModelV4 = {
    ...scripted,
    doGenerate: (call) => {
      asked.push(call);
      return scripted.doGenerate(call);
    },
  };
  const agent = defineAgent({
    ...{ name: "reader", version: "1", instructions: "", task: z.object({}), model },
    tools: {
      read: tool({
        ...{ input: z.object({ page: z.number() }), effect: "none" },
        run: ({ input }) => `page ${input.page} ${"word ".repeat(40)}`,
      }),
    },
    done: [check("every page", ({ calls }) => calls.length === pages)],
    ...options,
  }) as Agent;
  return { agent, asked, counts };
}
