/**
 * A pipeline that books an invoice: read it, assign the accounts, book it. The gate behind the first stage adds up the
 * lines, so no later stage builds on a number that was read wrong. The end-to-end check compares the booking with the
 * invoice itself.
 */
import { check, defineAgent, defineChaos, pipeline, tool } from "cairn-run";
import { z } from "zod";
import { act, effectsIn, worldOf } from "../shared/outside.ts";
import { model } from "./model.ts";

const cents = z.int().positive();
const invoice = z.object({
  number: z.string(),
  lines: z.array(z.object({ text: z.string(), cents })),
  totalCents: cents,
});
const entry = z.object({ number: z.string(), entries: z.array(z.object({ account: z.string(), cents })) });

const sum = (lines: readonly { readonly cents: number }[]): number => lines.reduce((all, line) => all + line.cents, 0);

export const invoiceClerk = defineAgent({
  name: "invoice",
  version: "1",
  model,
  instructions: "You are a careful accountant. Amounts are in cents.",
  task: z.object({ text: z.string() }),
  topology: pipeline({
    stages: [
      {
        name: "read",
        instructions:
          'Read the invoice. Answer with JSON alone: {"number", "lines": [{"text", "cents"}], "totalCents"}.',
        tools: [],
        output: invoice,
        gate: ({ output }) => {
          const { lines, totalCents } = invoice.parse(JSON.parse(output));
          return sum(lines) === totalCents || `the lines add up to ${sum(lines)}, and the total is ${totalCents}`;
        },
      },
      {
        name: "assign",
        instructions:
          'Look up the account of each line. Answer with JSON alone: {"number", "entries": [{"account", "cents"}]}.',
        tools: ["findAccount"],
        output: entry,
      },
      { name: "book", instructions: "Book the entries with one call, then say under which number.", tools: ["book"] },
    ],
    endToEnd: ({ calls, task }) => {
      const booked = entry.parse(calls.findLast((call) => call.tool === "book" && call.outcome === "succeeded")?.args);
      const { text } = z.object({ text: z.string() }).parse(task);
      const total = /total:? (\d+)\.(\d\d)/i.exec(text);
      const wanted = Number(total?.[1]) * 100 + Number(total?.[2]);
      if (sum(booked.entries) === wanted) return true;
      return {
        holds: false,
        why: `${sum(booked.entries)} cents are booked, and the invoice says ${wanted}`,
        detail: "read",
      };
    },
  }),
  budget: { beats: 30 },

  tools: {
    findAccount: tool({
      description: "Finds the account for a line of an invoice.",
      input: z.object({ text: z.string() }),
      effect: "none",
      run: ({ input }) => ACCOUNTS.find(([words]) => words.test(input.text))?.[1] ?? "4900 other",
    }),
    book: tool({
      description: "Books the entries of one invoice.",
      input: entry,
      effect: "keyed",
      // An invoice is booked once, whatever happens to the run.
      key: ({ number }) => `invoice_${number}_v1`,
      externalId: (result) => z.object({ booking: z.string() }).safeParse(result).data?.booking ?? null,
      run: ({ input, key }) => {
        const id = act({ tool: "book", key, of: input.number, what: JSON.stringify(input.entries) });
        return { booking: `B${id}` };
      },
    }),
  },

  done: [
    check("is-booked", ({ calls }) =>
      calls.some(({ tool: name, outcome }) => name === "book" && outcome === "succeeded"),
    ),
  ],
});

const ACCOUNTS: readonly (readonly [RegExp, string])[] = [
  [/paper|pen|desk/i, "4930 office supplies"],
  [/train|flight|hotel/i, "4670 travel"],
  [/server|hosting|licen[cs]e/i, "4806 software"],
];

/** For `cairn chaos invoice`: one invoice per task. Each is scanned badly, so that kills fall into the way back. */
export const chaos = defineChaos({
  input: (task) => ({ text: `Invoice 2027-${task}: paper 12.5O, train 80.0${task % 10}. Total: 92.5${task % 10}` }),
  env: (dir) => ({ EXAMPLES: worldOf(dir) }),
  standIns: { book: "service" },
  effects: (dir) => effectsIn(worldOf(dir)).map(({ tool: name, key, of }) => ({ tool: name, id: key, of })),
  // The number of a booking depends on which task was booked first.
  normalise: (result) => z.string().parse(result).replace(/B\d+/, "B"),
});
