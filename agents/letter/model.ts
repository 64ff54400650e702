/** The models of this example: functions of the conversation, or a real model that `EXAMPLE_MODEL` names. */
import { type Conversation, type ModelChoice, type ScriptedReply, scriptedModel } from "cairn-run";
import { z } from "zod";

const real = process.env.EXAMPLE_MODEL;

export const model: ModelChoice = real ?? scriptedModel({ name: "letter-model", reply });
export const judge: ModelChoice = real ?? scriptedModel({ name: "letter-judge", reply: score });

const application = z.object({ name: z.string(), position: z.string(), strengths: z.array(z.string()) });

const opening = ({ messages }: Conversation): string => messages.findLast(({ role }) => role === "user")?.text ?? "";

function reply(conversation: Conversation): ScriptedReply {
  const { name, position, strengths } = application.parse(conversation.task.json);
  const asked = opening(conversation);
  if (conversation.instructions.includes("You are the reader")) {
    const missing = strengths.find((strength) => !asked.includes(strength));
    return { text: missing === undefined ? "Nothing is missing." : `It does not mention ${missing}.` };
  }
  const isFirst = !asked.startsWith("Revise");
  if (isFirst && conversation.calls.length === 0) {
    return { calls: [{ tool: "readPosting", args: { name, position } }] };
  }
  const named = strengths.filter((strength) => asked.includes(strength));
  return { text: [`I apply as ${position}.`, ...named.map((each) => `I have ${each}.`), `Yours, ${name}`].join(" ") };
}

/** The share of the strengths that the letter names. */
function score(conversation: Conversation): ScriptedReply {
  const { strengths } = application.parse(conversation.task.json);
  const named = strengths.filter((strength) => opening(conversation).includes(strength)).length;
  return {
    text: JSON.stringify({ score: named / strengths.length, why: `${named} of ${strengths.length} strengths` }),
  };
}
