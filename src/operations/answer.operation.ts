import * as z from "zod";
import { agentOfRun } from "./agents.ts";
import { answerQuestion } from "./answer.ts";
import { RESPONSES, operation, respond, runInput } from "./operation.ts";
import { json } from "./values.ts";
import type { Syntaxes } from "./syntax.ts";

export const answerOperation = operation({
  scope: "approve",
  writes: true,
  typed: [{ command: "answer" }],
  help: "answer a call that asks a human (askHuman); the first answer counts",
  input: runInput.extend({ call: z.string(), result: json.default(null) }),
  run: async (context, said) =>
    answerQuestion(context.world, { ...said, by: context.by, agent: await agentOfRun(context, said.run) }),
  outcomes: {
    accepted: RESPONSES.accepted,
    duplicate: respond.refused("Duplicate", "The question was answered before; the first answer counts."),
    noEffect: respond.refused("NoEffect", "It was delivered, and the run ignores it."),
    stale: RESPONSES.stale,
    answerInvalid: respond.invalid("AnswerInvalid", "The answer does not fit what the call asks for."),
    refused: respond.refused("Refused", "The answer cannot be kept."),
    late: RESPONSES.late,
    missing: RESPONSES.missing,
  },
  over: ["store", "http"],
  http: { method: "post", path: "/runs/{run}/answers/{call}" },
});

export const answerSyntax = (): Syntaxes => ({
  answer: {
    group: "Steering",
    words: "<run> <call>",
    flags: [{ flag: "--result <json>", help: "the answer; JSON or @file", required: true }],
  },
});
