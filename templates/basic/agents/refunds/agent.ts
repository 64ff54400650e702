/** Answers a complaint: reads the order, refunds what did not arrive, and writes to the customer. */
import { check, defineAgent, tool } from "cairn-run";
import { z } from "zod";
import { model } from "./model.ts";
import { mail, readOrder, refund } from "./office.ts";

const order = z.string().regex(/^A-\d+$/);

export const refunds = defineAgent({
  name: "refunds",
  version: "1",
  model,
  // Dollars per million tokens, as your provider charges.
  price: { inUsd: 1, outUsd: 5 },
  instructions:
    "You answer complaints of a shop's customers. Read the order first. Refund what did not arrive, once. " +
    "Then write to the customer what you did.",
  task: z.object({ order, complaint: z.string().max(2_000) }),
  // What the run may use at most. If it is used up, the run fails and says so.
  budget: { usd: 0.5, beats: 12 },

  tools: {
    // `none`: it changes nothing, so after a crash it simply runs again.
    readOrder: tool({
      description: "Reads an order: the customer, the items, and which of them arrived.",
      input: z.object({ order }),
      effect: "none",
      run: ({ input }) => readOrder(input.order),
    }),

    // `keyed`: every try of a call has the same key, by which the office tells a repeated request from a new one.
    refund: tool({
      description: "Refunds an amount of an order, in euros.",
      input: z.object({ order, euros: z.number().positive().max(500) }),
      effect: "keyed",
      // A human approves large refunds. Until then the run waits and costs nothing.
      approval: ({ euros }) => (euros > 50 ? "it is more than 50 euros" : false),
      run: ({ input, key }) => refund(input, key),
    }),

    writeTo: tool({
      description: "Sends the customer of an order a mail.",
      input: z.object({ order, text: z.string().min(1).max(2_000) }),
      effect: "keyed",
      run: ({ input, key }) => mail(input, key),
    }),
  },

  // The run completes only if this holds. Otherwise the model is told what is missing.
  done: [
    check(
      "customer-knows",
      ({ calls }) =>
        calls.some(({ tool: name, outcome }) => name === "writeTo" && outcome === "succeeded") ||
        "the customer got no answer",
    ),
  ],
});
