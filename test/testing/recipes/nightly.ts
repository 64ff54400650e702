import { childTool, defineAgent, tool } from "cairn-run";
import { z } from "zod";
import { invoicesSince, remind } from "./shop.ts";

const model = "anthropic:claude-haiku-4-5";
const invoice = z.object({ invoice: z.string() });
const verdict = z.object({ due: z.boolean(), why: z.string() });

/** One invoice, as a run of its own: one that fails or waits holds up no other. */
export const dunning = defineAgent({
  name: "dunning",
  version: "1",
  model,
  instructions: "Judge whether the invoice is due. If it is, remind its customer once.",
  task: invoice,
  output: verdict,
  tools: {
    remind: tool({
      description: "Sends the reminder of an invoice.",
      input: invoice,
      effect: "keyed",
      run: ({ input, key }) => remind(input.invoice, key),
    }),
  },
  budget: { beats: 10 },
});

export const nightly = defineAgent({
  name: "nightly",
  version: "1",
  model,
  instructions: "Read the open invoices, have each of them checked, and report what is due.",
  task: z.object({}),
  schedule: { every: "cron(0 2 * * ? *)", timezone: "Europe/Berlin" },
  tools: {
    openInvoices: tool({
      description: "Reads the invoices that came since the run before.",
      input: z.object({}),
      effect: "none",
      run: ({ firing }) => invoicesSince(firing?.previousDueAt ?? 0),
    }),
    check: childTool({
      agent: "dunning",
      description: "Checks one invoice. Call it for each of them in one reply, and they are checked side by side.",
      input: invoice,
      output: verdict,
      budget: { beats: 10 },
    }),
  },
  budget: { beats: 500 }, // those of its children among them
});
