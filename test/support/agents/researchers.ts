/** A boss that hands out questions to researchers, by an orchestrator or a hierarchy. */
import { z } from "zod";
import type { Agent, Topology } from "../../../src/ports/agent.ts";
import {
  type ChildToolOptions,
  type Conversation,
  type ScriptedReply,
  childTool,
  defineAgent,
  scriptedModel,
} from "../../../src/index.ts";
import { type Asked, roleAgent } from "../runs/topology-run.ts";

const QUESTION = z.object({ question: z.string() });
const MEMO = z.object({ memo: z.string() });

export const asking = (...questions: readonly string[]): ScriptedReply => ({
  calls: questions.map((question) => ({ tool: "ask", args: { question } })),
});

/** What a boss, its summaries and its merger see and say. */
export const ROLES = {
  boss: { instructions: "You hand out." },
  merger: { instructions: "You merge." },
};

/** The boss. `hands`: what it hands out; by default two questions, and then nothing more. */
export function bossOf(
  topology: Topology,
  of: {
    readonly hands?: (conversation: Conversation) => ScriptedReply;
    readonly child?: Partial<ChildToolOptions<typeof QUESTION, typeof MEMO>>;
    readonly name?: string;
    readonly budget?: Parameters<typeof defineAgent>[0]["budget"];
    readonly more?: Parameters<typeof defineAgent>[0]["tools"];
    readonly task?: z.ZodType;
  } = {},
): { readonly agent: Agent; readonly asked: Asked[] } {
  const { name = "actor", budget = { beats: 400 }, child = {}, more = {}, task = z.object({}).loose() } = of;
  const hands = of.hands ?? (({ messages }) => (isFirst(messages) ? asking("one", "two") : { text: "enough" }));
  const ask = childTool({
    ...{ agent: "researcher", description: "asks a researcher", input: QUESTION, output: MEMO },
    budget: { beats: 5 },
    ...child,
  });
  const reply = (conversation: Conversation): ScriptedReply => {
    const { instructions, messages } = conversation;
    if (instructions.includes("You hand out.")) return hands(conversation);
    // A summary and an answer name what they are made of.
    const shown = messages.at(-1)?.text ?? "";
    return { text: memosIn(shown).join(" + ") };
  };
  return roleAgent(topology, { name, reply, tools: { ask, ...more }, budget, loops: "ignore", task });
}

export const isFirst = (messages: Conversation["messages"]): boolean =>
  !messages.some(({ text }) => text.startsWith("Reports so far"));

/** The memos in a text: `on one`, `on two`. */
export const memosIn = (text: string): readonly string[] => text.match(/on \w+/g) ?? [];

/** A researcher answers each question with a memo about it. */
export function researcher(
  of: {
    readonly name?: string;
    readonly reply?: (conversation: Conversation) => ScriptedReply | Promise<ScriptedReply>;
    readonly memo?: (question: string) => unknown;
  } = {},
): Agent {
  const { name = "researcher", reply = () => ({ text: "done" }) } = of;
  const memo = of.memo ?? ((question: string) => ({ memo: `on ${question}` }));
  return defineAgent({
    ...{ name, version: "1", instructions: "", task: QUESTION, tools: {}, loops: "ignore" as const },
    model: scriptedModel({ name, reply }),
    budget: { beats: 20 },
    result: ({ task }) => memo(task.question) as never,
  }) as Agent;
}
