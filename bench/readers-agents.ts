/** The agents of `readers.ts`: one whose run has a long history, and one whose runs work while others read. */
import { z } from "zod";
import { defineAgent, react, scriptedModel, tool } from "../src/index.ts";

const task = z.object({ beats: z.int() });
const model = { topology: react({ maxBeats: 10_000 }), price: { inUsd: 1, outUsd: 1 }, task } as const;

/** Words that a compression does not shorten to nothing. */
const words = (seed: number, count: number): string =>
  Array.from({ length: count }, (_, index) => ((seed * 7_919 + index * 104_729) % 1_679_616).toString(36)).join(" ");

const step = tool({
  ...{ effect: "keyed", input: z.object({ number: z.int() }) },
  run: ({ input: { number } }) => ({ walked: number, seen: words(number, 40) }),
});

const beatsIn = (json: unknown): number => task.parse(json).beats;

const replyTo = (beats: number, length: number) =>
  length >= beats
    ? { text: "There.", tokensIn: 500, tokensOut: 20 }
    : { text: words(length, 80), calls: [{ tool: "step", args: { number: length } }], tokensIn: 500, tokensOut: 20 };

export const long = defineAgent({
  ...{ name: "long", version: "1", instructions: "Go on.", budget: { usd: 100, beats: 10_000 }, ...model },
  model: scriptedModel({
    name: "long-model",
    reply: ({ task: { json }, calls }) => replyTo(beatsIn(json), calls.length),
  }),
  tools: { step },
});

export const worker = defineAgent({
  ...{ name: "worker", version: "1", instructions: "Go on.", budget: { usd: 100, beats: 10_000 }, ...model },
  model: scriptedModel({
    name: "worker-model",
    reply: async ({ task: { json }, calls }) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return replyTo(beatsIn(json), calls.length);
    },
  }),
  tools: { step },
});
