/**
 * The run that the benchmarks measure. Each beat has a model reply of 1.5 KB and a tool result of 2.0 KB, and every
 * second call has an outside effect and an idempotency key. The model replies at once, or after `replyMs`.
 */
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";
import { prose } from "./sentences.ts";

/** The agent, and in `performed` the number of calls that really ran so far. */
export const workload = (beats: number) => sized({ beats, replyMs: 0 });

export function sized(of: {
  readonly beats: number;
  readonly replyMs: number;
  readonly called?: (turn: number) => void;
}) {
  const { beats, replyMs, called = () => undefined } = of;
  const performed = { none: 0, keyed: 0, model: 0 };
  const delay = replyMs > 0 ? { delayMs: replyMs } : {};
  const answer = (effect: "none" | "keyed", turn: number): string => {
    performed[effect] += 1;
    return prose(turn + 1_000_003, 2_000);
  };
  const agent = defineAgent({
    name: "long",
    version: "1",
    instructions: "Go on until you are told to stop.",
    task: z.object({ beats: z.number() }),
    model: scriptedModel({
      name: "long-model",
      reply: ({ turn, task }) => {
        called(turn);
        performed.model += 1;
        // Named, since counting them would take time that no other loop pays.
        const tokens = { tokensIn: 1_000, tokensOut: 400 };
        // A run may be a shorter one.
        if (turn >= Math.min(beats, (task.json as { readonly beats: number }).beats))
          return { text: "done", ...tokens, ...delay };
        const calls = [{ tool: turn % 2 === 0 ? "look" : "write", args: { turn } }];
        return { text: prose(turn, 1_500), calls, ...tokens, ...delay };
      },
    }),
    // A message that comes late asks for one more reply.
    topology: { kind: "react", maxBeats: 2 * beats + 100 },
    tools: {
      look: tool({
        input: z.object({ turn: z.number() }),
        effect: "none",
        run: ({ input }) => answer("none", input.turn),
      }),
      write: tool({
        input: z.object({ turn: z.number() }),
        effect: "keyed",
        run: ({ input }) => answer("keyed", input.turn),
      }),
    },
  });
  return { agent, performed };
}
