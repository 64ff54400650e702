/** The models of this example: functions of the conversation, or a real model that `EXAMPLE_MODEL` names. */
import { type Conversation, type ModelChoice, type ScriptedReply, scriptedModel } from "cairn-run";
import { z } from "zod";

const real = process.env.EXAMPLE_MODEL;

export const bossModel: ModelChoice = real ?? scriptedModel({ name: "yearly-boss", reply: bossReply });
export const branchModel: ModelChoice = real ?? scriptedModel({ name: "yearly-branch", reply: branchReply });

const department = z.object({ name: z.string(), branches: z.array(z.string()) });
const company = z.object({ company: z.string(), departments: z.array(department) });
const ofDepartment = department.extend({ company: z.string() });
const figures = z.object({ name: z.string(), thousands: z.int() });

function bossReply({ instructions, messages, task }: Conversation): ScriptedReply {
  if (instructions.includes("You hand out departments")) {
    const { company: of, departments } = company.parse(task.json);
    return { calls: departments.map((each) => ({ tool: "report", args: { company: of, ...each } })) };
  }
  if (instructions.includes("You hand out branches")) {
    const { company: of, branches } = ofDepartment.parse(task.json);
    return { calls: branches.map((each) => ({ tool: "close", args: { company: of, branch: each } })) };
  }
  return { text: linesIn(messages.findLast(({ role }) => role === "user")?.text ?? "").join("\n") };
}

/** Reports and summaries of reports, as lines: a name with its figure. */
const linesIn = (opening: string): readonly string[] =>
  opening.split("\n").flatMap((line) => {
    const json = /^(\{.*\})$/.exec(line)?.[1];
    if (json !== undefined) {
      const { name, thousands } = figures.parse(JSON.parse(json));
      return [`${name} has ${thousands}.`];
    }
    return /([\w ]+ has \d+\.)$/.exec(line)?.[1]?.trim() ?? [];
  });

function branchReply({ calls, task }: Conversation): ScriptedReply {
  if (calls.length > 0) return { text: "The books are closed." };
  return { calls: [{ tool: "closeBooks", args: task.json }] };
}
