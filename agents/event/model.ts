/** The model of this example: a function of the conversation, or a real model that `EXAMPLE_MODEL` names. */
import { type Conversation, type ModelChoice, type ScriptedReply, scriptedModel } from "cairn-run";
import { z } from "zod";

export const model: ModelChoice = process.env.EXAMPLE_MODEL ?? scriptedModel({ name: "event-model", reply });

const evening = z.object({ team: z.string(), guests: z.int().default(12) });

function reply(conversation: Conversation): ScriptedReply {
  const opening = conversation.messages.findLast(({ role }) => role === "user")?.text ?? "";
  if (conversation.instructions.includes("Plan the evening")) return { text: JSON.stringify(plan(opening)) };
  if (opening.startsWith("The plan is carried out")) {
    return { text: `The evening is in the ${/invite to ([\w ]+):/.exec(opening)?.[1] ?? "?"}, food is ordered.` };
  }
  return step(conversation, opening);
}

/** The first plan takes the Loft; a plan after a failure takes another room, and only what is left. */
function plan(opening: string) {
  const isAgain = opening.includes("cannot go on");
  const room = isAgain ? "Garden" : "Loft";
  const done = /Already done[^]*?\n\n/.exec(opening)?.[0] ?? "";
  const steps = [
    { title: `book ${room}`, does: `book ${room} for the team`, tools: ["bookRoom"] },
    { title: "order food", does: "order food for all guests", tools: ["orderFood"] },
    { title: `invite to ${room}`, does: `invite everybody to ${room}`, tools: ["invite"] },
  ];
  return { steps: steps.filter(({ title }) => !done.includes(`- ${title}:`)) };
}

function step({ task, calls }: Conversation, opening: string): ScriptedReply {
  const { team, guests } = evening.parse(task.json);
  const title = /^Step \d of \d: (.+)\.\n/.exec(opening)?.[1] ?? "";
  if (calls.length > 0) return { text: `${title}: done` };
  const room = title.replace(/^(book|invite to) /, "");
  if (title.startsWith("book")) return { calls: [{ tool: "bookRoom", args: { team, room } }] };
  if (title.startsWith("order")) return { calls: [{ tool: "orderFood", args: { team, guests } }] };
  return { calls: [{ tool: "invite", args: { team, room } }] };
}
