import { defineAgent, tool } from "cairn-run";
import { z } from "zod";

export const desk = defineAgent({
  name: "desk",
  version: "1",
  model: "anthropic:claude-haiku-4-5",
  instructions: "Help the customer. Refund what did not arrive.",
  task: z.string(), // the first message
  chat: { idle: "14d" },
  tools: {
    refund: tool({
      description: "Refunds an amount of an order, in euros.",
      input: z.object({ order: z.string(), euros: z.number().positive() }),
      effect: "keyed",
      // The reason stands on the card of the approval. The customer goes on writing meanwhile.
      approval: ({ euros }) => (euros > 50 ? "it is more than 50 euros" : false),
      approvals: { expires: "3d", onExpiry: "ask" },
      run: async ({ input, key, signal }) => {
        const headers = { "content-type": "application/json", "idempotency-key": key };
        const body = JSON.stringify(input);
        const sent = await fetch("https://shop.example/refunds", { method: "POST", headers, body, signal });
        return sent.json();
      },
    }),
  },
  budget: { beats: 200 },
});
