/**
 * An orchestrator that compares products: a boss commissions one researcher per product, and a merger writes the report
 * from their memos. Each researcher is a child run. The laboratory delivers each test result once per key.
 */
import { check, childTool, defineAgent, defineChaos, orchestrator, tool } from "cairn-run";
import { z } from "zod";
import { act, effectsIn, worldOf } from "../shared/outside.ts";
import { bossModel, researchModel } from "./model.ts";

const comparison = z.object({ reader: z.string(), products: z.array(z.string()).min(2).max(8) });
const order = z.object({ reader: z.string(), product: z.string() });
const memo = z.object({ product: z.string(), euros: z.int(), decibels: z.int() });

/** What the laboratory measured: figures that depend on the name alone. */
const measured = (product: string): z.output<typeof memo> => {
  const sum = [...product].reduce((total, letter) => total + letter.charCodeAt(0), 0);
  return { product, euros: 80 + (sum % 120), decibels: 35 + (sum % 23) };
};

export const compare = defineAgent({
  name: "compare",
  version: "1",
  model: bossModel,
  instructions: "You compare products for a reader, by figures alone.",
  task: comparison,
  topology: orchestrator({
    workers: ["research"],
    boss: { instructions: "You commission research: one product per call." },
    merger: { instructions: "You write the report: a line per product, and the best buy at the end." },
    rounds: 2,
    handOffs: 10,
  }),
  budget: { beats: 120 },

  tools: {
    research: childTool({
      agent: "researcher",
      description: "Finds out price and noise of one product.",
      input: order,
      output: memo,
      budget: { beats: 6 },
      deadlineMs: 5 * 60_000,
    }),
  },

  done: [
    check<z.output<typeof comparison>>("names-each-product", ({ text, task }) => {
      const missing = task.products.filter((product) => !text.includes(product));
      return missing.length === 0 || `the report does not name ${missing.join(", ")}`;
    }),
  ],
});

export const researcher = defineAgent({
  name: "researcher",
  version: "1",
  model: researchModel,
  instructions: "You have one product tested, and report the figures.",
  task: order,
  budget: { beats: 6 },

  tools: {
    orderTest: tool({
      description: "Has a product tested by the laboratory, which charges for each order.",
      input: order,
      output: memo,
      effect: "keyed",
      run: ({ input: { reader, product }, key }) => {
        act({ tool: "orderTest", key, of: `${product} for ${reader}`, what: product });
        return measured(product);
      },
    }),
  },

  done: [
    check("is-tested", ({ calls }) =>
      calls.some(({ tool: name, outcome }) => name === "orderTest" && outcome === "succeeded"),
    ),
  ],
  result: ({ calls }) => calls.findLast(({ outcome }) => outcome === "succeeded")?.result ?? null,
});

const PRODUCTS = ["Brother", "Canon", "Epson", "Kyocera", "Lexmark", "Ricoh"];

/** For `cairn chaos compare`: one reader per task, with two to five printers. */
export const chaos = defineChaos({
  input: (task) => ({ reader: `Reader ${task}`, products: PRODUCTS.slice(0, 2 + (task % 4)) }),
  env: (dir) => ({ EXAMPLES: worldOf(dir) }),
  standIns: { "researcher.orderTest": "service" },
  effects: (dir) => effectsIn(worldOf(dir)).map(({ tool: name, key, of }) => ({ tool: name, id: key, of })),
});
