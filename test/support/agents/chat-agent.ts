/** A conversation: each message is answered by its own text, and `look at X` by a call first. */
import { z } from "zod";
import { type Conversation, type ScriptedReply, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import type { Agent } from "../../../src/ports/agent.ts";

export const IDLE_MS = 3 * 86_400_000;

/** Answers the newest message of the user; `look …` calls a tool before, `pay …` one that needs an approval. */
export function echo({ messages }: Conversation): ScriptedReply {
  const last = messages.at(-1);
  const asked = messages.findLast(({ role }) => role === "user")?.text ?? "";
  const tokens = { tokensIn: 10, tokensOut: 5 };
  if (last?.role === "user" && asked.startsWith("look")) return { calls: [{ tool: "look", args: {} }], ...tokens };
  if (last?.role === "user" && asked.startsWith("pay"))
    return { calls: [{ tool: "pay", args: { euros: 5 } }], ...tokens };
  return { text: `You said: ${asked}`, ...tokens };
}

export interface ChatAgentOptions {
  readonly reply?: (conversation: Conversation) => ScriptedReply | Promise<ScriptedReply>;
  readonly chat?: boolean | { readonly idle: number | string };
  /** Further tools. */
  readonly tools?: Parameters<typeof defineAgent>[0]["tools"];
}

export function chatAgent({ reply = echo, chat = { idle: IDLE_MS }, tools = {} }: ChatAgentOptions = {}): Agent {
  return defineAgent({
    ...{ name: "talker", version: "1", instructions: "Talk.", task: z.string() },
    model: scriptedModel({ name: "script", reply }),
    tools: {
      look: tool({ input: z.object({}), effect: "none", run: () => "seen" }),
      pay: tool({
        ...{ input: z.object({ euros: z.number() }), effect: "keyed", approval: "always" },
        run: ({ input, key }) => ({ paid: input.euros, key }),
      }),
      ...tools,
    },
    chat,
    price: { inUsd: 1, outUsd: 1 },
    budget: { usd: 1 },
  }) as Agent;
}
