import * as z from "zod";
import { assign } from "./assign.ts";
import { RESPONSES, operation, respond, runInput } from "./operation.ts";
import type { Syntaxes } from "./syntax.ts";

export const assignOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "assign" }],
  help: "assign a run to an operator; approvals and show name the operator",
  input: runInput.extend({ to: z.string().regex(/\S/u, "it has no text") }),
  run: ({ world, by }, input) => assign(world, { ...input, by }),
  outcomes: {
    accepted: RESPONSES.accepted,
    same: respond.done("They have it already."),
    crossed: respond.refused("Crossed", "Another operator assigned it in the same moment."),
    late: RESPONSES.late,
    missing: RESPONSES.missing,
  },
  over: ["store", "http"],
  http: { method: "post", path: "/runs/{run}/assignment" },
});

export const assignSyntax = (): Syntaxes => ({
  assign: { group: "Steering", words: "<run> <operator>", fills: { operator: "to" } },
});
