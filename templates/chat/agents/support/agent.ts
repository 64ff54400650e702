/** Talks with a customer of a shop about orders. Between two messages the conversation waits, and costs nothing. */
import { defineAgent, tool } from "cairn-run";
import { z } from "zod";
import { model } from "./model.ts";
import { readOrder, refund } from "./shop.ts";

const order = z.string().regex(/^A-\d+$/);

export const support = defineAgent({
  name: "support",
  version: "1",
  model,
  // Dollars per million tokens, as your provider charges.
  price: { inUsd: 1, outUsd: 5 },
  instructions:
    "You answer a customer of a shop. Read an order before you talk about it. Refund what did not arrive if the " +
    "customer wants that, each order once.",
  // The first message. What the customer says later is part of the conversation too.
  task: z.string().max(2_000),
  // After an answer the run waits for the next message. It completes when none comes in this time.
  chat: { idle: "14d" },
  // What the whole conversation may use. If it is used up, the run waits until you grant more, or end it.
  budget: { usd: 0.5, beats: 100, onExhausted: "ask" },

  tools: {
    // `none`: it changes nothing, so after a crash it simply runs again.
    readOrder: tool({
      description: "Reads an order: the customer, the items, and which of them arrived.",
      input: z.object({ order }),
      effect: "none",
      run: ({ input }) => readOrder(input.order),
    }),

    // `keyed`: every try of a call has the same key, by which the shop tells a repeated request from a new one.
    refund: tool({
      description: "Refunds an amount of an order, in euros.",
      input: z.object({ order, euros: z.number().positive().max(500) }),
      effect: "keyed",
      // A human approves large refunds. Until then the run waits and costs nothing.
      approval: ({ euros }) => (euros > 50 ? "it is more than 50 euros" : false),
      run: ({ input, key }) => refund(input, key),
    }),
  },
});
