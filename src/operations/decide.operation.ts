import * as z from "zod";
import { agentOfRun } from "./agents.ts";
import { decide } from "./decide.ts";
import type { DecisionFate } from "./decision-fate.ts";
import { operation, runInput } from "./operation.ts";
import { DECIDED } from "./outcomes.ts";
import { json, more, note, waitMs } from "./values.ts";
import type { Syntaxes } from "./syntax.ts";

/** API Gateway ends a request after 29 seconds. */
const DECISION_WAIT_MS_MAX = 20_000;

export const decideOperation = operation({
  scope: "approve",
  writes: true,
  help: "approve or deny a call that waits for approval",
  typed: [
    {
      command: "approve",
      help: "approve a call, or more budget, that a run waits for; name the gate or its call if there are several",
    },
    {
      command: "deny",
      help: "deny a call, and tell the model so, or deny more budget; name the gate or its call if there are several",
    },
  ],
  input: runInput.extend({
    gate: z.string(),
    note,
    waitMs,
    as: z.enum(["approve", "edit", "deny"]),
    args: json.default(null),
    more: more.default({}),
  }),
  run: async (context, said): Promise<DecisionFate> => {
    const load = () => agentOfRun(context, said.run);
    // An approval as it is needs no code, so code that cannot be loaded refuses none.
    const agent = said.as === "edit" ? await load() : said.as === "deny" ? null : await load().catch(() => null);
    return decide(context.world, { ...said, agent, by: context.by });
  },
  outcomes: DECIDED,
  over: ["store", "http"],
  http: {
    method: "post",
    path: "/runs/{run}/approvals/{gate}",
    bounds: { waitMs: z.int().min(0).max(DECISION_WAIT_MS_MAX).default(0) },
  },
});

export const decideSyntax = (): Syntaxes => ({
  approve: {
    group: "Steering",
    words: "<run> [gate]",
    flags: [
      { flag: "--note <text>", help: "why, for the record and for the model" },
      {
        flag: "--args <json>",
        help: "run the call with these arguments instead; they must match the tool's input; JSON or @file",
      },
      { flagsOf: "budget" },
    ],
  },
  deny: {
    group: "Steering",
    words: "<run> [gate]",
    flags: [{ flag: "--note <text>", help: "why, for the record and for the model" }],
  },
});
