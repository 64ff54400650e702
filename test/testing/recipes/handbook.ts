import { defineAgent, tool } from "cairn-run";
import { z } from "zod";

export const handbook = defineAgent({
  name: "handbook",
  version: "1",
  model: "anthropic:claude-haiku-4-5",
  instructions: "Answer from the handbook only. Search it first, and name the entries that you used.",
  task: z.string(),
  memory: { scope: "handbook" },
  tools: {
    search: tool({
      description: "Finds the entries of the handbook that fit some words.",
      input: z.object({ words: z.string() }),
      effect: "none",
      run: async ({ input, memory }) => {
        const found = await memory.search(input.words, { limit: 5 });
        return memory.get(found.map(({ id }) => id));
      },
    }),
    keep: tool({
      description: "Writes an entry of the handbook, in place of the one with its ID.",
      input: z.object({ id: z.string(), text: z.string() }),
      // A put under the same ID is there once.
      effect: "none",
      run: ({ input, memory }) => memory.put(input),
    }),
  },
  budget: { beats: 10 },
});
