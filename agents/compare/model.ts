/** The models of this example: functions of the conversation, or a real model that `EXAMPLE_MODEL` names. */
import { type Conversation, type ModelChoice, type ScriptedReply, scriptedModel } from "cairn-run";
import { z } from "zod";

const real = process.env.EXAMPLE_MODEL;

export const bossModel: ModelChoice = real ?? scriptedModel({ name: "compare-boss", reply: bossReply });
export const researchModel: ModelChoice = real ?? scriptedModel({ name: "compare-researcher", reply: researchReply });

const comparison = z.object({ reader: z.string(), products: z.array(z.string()) });
const memo = z.object({ product: z.string(), euros: z.int(), decibels: z.int() });

/** The memos in the message that opens a section: a line of JSON each. */
const memosIn = (text: string): readonly z.output<typeof memo>[] =>
  [...text.matchAll(/^(\{.*\})$/gm)].map(([, json]) => memo.parse(JSON.parse(json ?? "{}")));

function bossReply({ instructions, messages, task }: Conversation): ScriptedReply {
  const { reader, products } = comparison.parse(task.json);
  const memos = memosIn(messages.findLast(({ role }) => role === "user")?.text ?? "");
  if (instructions.includes("You commission research")) {
    const open = products.filter((product) => memos.every((each) => each.product !== product));
    if (open.length === 0) return { text: "Each product has a memo." };
    return { calls: open.map((product) => ({ tool: "research", args: { reader, product } })) };
  }
  const lines = memos.map(({ product, euros, decibels }) => `${product}: ${euros} euros, ${decibels} dB.`);
  const best = memos.toSorted((one, other) => one.euros + one.decibels - other.euros - other.decibels)[0];
  return { text: [...lines, `Best buy for ${reader}: ${best?.product ?? "none"}.`].join("\n") };
}

function researchReply({ calls, task }: Conversation): ScriptedReply {
  if (calls.length > 0) return { text: "The figures are there." };
  return { calls: [{ tool: "orderTest", args: task.json }] };
}
