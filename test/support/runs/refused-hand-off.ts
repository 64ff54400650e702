/** A pipeline whose one stage hands out work and runs again, since its gate refuses the first output. */
import { type Conversation, type ScriptedReply, childTool, pipeline } from "../../../src/index.ts";
import { INPUT, MEMO, worker } from "../agents/workers.ts";
import { roleAgent } from "./topology-run.ts";

/** Its one stage hands out the same part in each run, and its gate refuses the first output. */
export function refusedOnce(keep: { readonly onRollBack?: "keep" } = {}) {
  const acted: string[] = [];
  const { agent } = roleAgent(
    pipeline({
      stages: [
        { name: "hand", instructions: "Hand.", gate: ({ output }) => output.startsWith("again") || "it is too early" },
      ],
    }),
    {
      reply: ({ messages, calls }: Conversation): ScriptedReply => {
        if (calls.length === 0) return { calls: [{ tool: "ask", args: { part: 1 } }] };
        return { text: messages.some(({ text }) => text.includes("not accepted")) ? "again" : "first" };
      },
      tools: {
        ask: childTool({
          ...{ agent: "worker", description: "a child", input: INPUT, output: MEMO, budget: { beats: 5 } },
          ...keep,
        }),
      },
    },
  );
  const others = [worker({ run: ({ run }) => void acted.push(run) })];
  return { agent, others, acted };
}
