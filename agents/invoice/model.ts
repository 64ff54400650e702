/** The model of this example: a function of the conversation, or a real model that `EXAMPLE_MODEL` names. */
import { type Conversation, type ModelChoice, type ScriptedReply, scriptedModel } from "cairn-run";
import { z } from "zod";

export const model: ModelChoice = process.env.EXAMPLE_MODEL ?? scriptedModel({ name: "invoice-model", reply });

const lines = z.object({ number: z.string(), lines: z.array(z.object({ text: z.string(), cents: z.int() })) });

function reply(conversation: Conversation): ScriptedReply {
  const { instructions } = conversation;
  if (instructions.includes("Read the invoice")) return { text: JSON.stringify(read(conversation)) };
  return instructions.includes("Look up the account") ? assign(conversation) : book(conversation);
}

/**
 * Reads the lines and the total. Where a scan has the letter O instead of a zero, the line is missed in the first run.
 * Its lines do not add up then, and the run that the gate asks for looks at letters as well.
 */
function read({ task, messages }: Conversation) {
  const { text: scan } = z.object({ text: z.string() }).parse(task.json);
  const isAgain = messages.some(({ text: said }) => said.includes("was not accepted"));
  const text = isAgain ? scan.replaceAll(/(?<=[\d.])O/g, "0") : scan;
  const found = [...text.matchAll(/(\w+) (\d+)\.(\d\d)/g)].map(([, name = "", whole, part]) => ({
    text: name,
    cents: Number(whole) * 100 + Number(part),
  }));
  const items = found.filter(({ text: name }) => name !== "Total");
  const total = /Total:? (\d+)\.(\d\d)/i.exec(text);
  return {
    number: /Invoice ([\w-]+)/.exec(text)?.[1] ?? "",
    lines: items,
    totalCents: Number(total?.[1]) * 100 + Number(total?.[2]),
  };
}

/** What the stage before handed on. */
const handed = ({ messages }: Conversation): unknown => {
  const opening = messages.findLast(({ role, text }) => role === "user" && text.startsWith("Stage"))?.text ?? "";
  return JSON.parse(opening.slice(opening.indexOf("{"), opening.lastIndexOf("}") + 1));
};

function assign(conversation: Conversation): ScriptedReply {
  const { number, lines: items } = lines.parse(handed(conversation));
  const { calls } = conversation;
  if (calls.length === 0) return { calls: items.map(({ text }) => ({ tool: "findAccount", args: { text } })) };
  const entries = items.map(({ cents }, index) => ({ account: z.string().parse(calls[index]?.result), cents }));
  return { text: JSON.stringify({ number, entries }) };
}

function book(conversation: Conversation): ScriptedReply {
  const result = conversation.resultOf("book");
  if (result === undefined) return { calls: [{ tool: "book", args: handed(conversation) }] };
  return { text: `Booked as ${z.object({ booking: z.string() }).parse(result).booking}.` };
}
