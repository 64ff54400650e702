/**
 * An agent whose every request is nearly as long as its context, so that its runs are compacted whenever a summary is
 * worth its price. Its model says what a plan says, whatever it is shown.
 */
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { z } from "zod";
import type { Agent } from "../../../src/ports/agent.ts";
import {
  type ScriptedReply,
  askHuman,
  childTool,
  defineAgent,
  scriptedModel,
  tool,
  waitFor,
} from "../../../src/index.ts";
import { MEMO, INPUT as PART } from "./workers.ts";
import { SUMMARY } from "./small-context-agent.ts";

const CROWDED: Pick<ScriptedReply, "tokensIn" | "tokensOut"> = { tokensIn: 90, tokensOut: 1 };

/** That many replies with one call each. After them the context has been compacted. */
export const looks = (count: number, from = 0): readonly ScriptedReply[] =>
  Array.from({ length: count }, (_, index) => ({ calls: [{ tool: "look", args: { page: from + index } }] }));

/** What a tool did, and the idempotency key of the call. */
interface Deed {
  readonly what: string;
  readonly key: string;
}

const BOOKING = z.object({ what: z.string() });

/** `requests`: those of its working model, in order. `done` and `undone`: what its tools did, each time that they did it. */
export function crowdedAgent(plan: readonly ScriptedReply[], options: Partial<Parameters<typeof defineAgent>[0]> = {}) {
  const requests: LanguageModelV4CallOptions[] = [];
  const done: Deed[] = [];
  const undone: Deed[] = [];
  const scripted = scriptedModel({
    name: "script",
    reply: () => ({ ...(plan[requests.length - 1] ?? { text: "over" }), ...CROWDED }),
  });
  const model: LanguageModelV4 = {
    ...scripted,
    doGenerate: (request) => {
      requests.push(request);
      return scripted.doGenerate(request);
    },
  };
  const agent = defineAgent({
    ...{ name: "crowded", version: "1", instructions: "", task: z.object({}), model },
    models: {
      cheap: { model: scriptedModel({ name: "cheap", reply: () => SUMMARY }), price: { inUsd: 1, outUsd: 1 } },
    },
    context: { tokensMax: 100, model: "cheap" },
    tools: {
      look: tool({
        ...{ input: z.object({ page: z.number() }), effect: "none" },
        run: ({ input }) => `page ${input.page} ${"word ".repeat(40)}`,
      }),
      book: tool({
        ...{ input: BOOKING, effect: "keyed" },
        run: ({ input: { what }, key }) => {
          done.push({ what, key });
          return `${what} is booked`;
        },
        undo: {
          effect: "keyed",
          run: ({ input: { what }, of }) => void undone.push({ what, key: of.key }),
        },
      }),
      pay: tool({
        ...{ input: BOOKING, effect: "unsafe", approval: "always" },
        run: ({ input: { what }, key }) => {
          done.push({ what, key });
          return `${what} is paid`;
        },
      }),
      ask: askHuman({ answer: z.object({ yes: z.boolean() }) }),
      paid: waitFor({ event: "paid", detail: z.object({ euros: z.number() }), timeLimit: "5h" }),
      send: childTool({
        ...{ agent: "worker", description: "sends a worker", input: PART, output: MEMO, budget: { beats: 5 } },
        ...{ deadlineMs: 30_000, tries: 1 },
      }),
    },
    budget: { beats: 200 },
    loops: "ignore",
    ...options,
  }) as Agent;
  return { agent, requests, done, undone };
}
