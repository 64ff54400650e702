import * as z from "zod";
import { RESPONSES, operation, respond, runInput } from "./operation.ts";
import { reconcile } from "./reconcile.ts";
import { json, note } from "./values.ts";
import type { Syntaxes } from "./syntax.ts";

const ANSWERS = ["succeeded", "failed", "retry", "compensate"] as const;

export const reconcileOperation = operation({
  scope: "approve",
  writes: true,
  typed: [{ command: "reconcile" }],
  help: "reconcile a call with an unknown outcome: say whether it happened",
  input: runInput.extend({
    call: z.string(),
    note,
    as: z.enum(ANSWERS),
    result: json.default(null),
  }),
  run: ({ world, by }, said) => reconcile(world, { ...said, by }),
  outcomes: {
    accepted: RESPONSES.accepted,
    duplicate: RESPONSES.duplicate,
    noUndo: respond.refused("NoUndo", "The tool of the call has no undo."),
    stale: RESPONSES.stale,
    tooEarly: respond.refused("TooEarly", "Its request may still take effect."),
    refused: respond.refused("Refused", "The result cannot be kept."),
    late: RESPONSES.late,
    missing: RESPONSES.missing,
  },
  over: ["store", "http"],
  http: { method: "post", path: "/runs/{run}/reconcile/{call}" },
});

export const reconcileSyntax = (): Syntaxes => ({
  reconcile: {
    group: "Steering",
    words: "<run> <call>",
    flags: [
      {
        flag: "--as <answer>",
        help: "succeeded: it happened; failed: it did not; retry: it did not, run it now; compensate: undo all effects of the run",
        choices: ANSWERS,
        required: true,
      },
      { flag: "--result <json>", help: "with succeeded: what the call returned; JSON or @file" },
      { flag: "--note <text>", help: "a note for the record" },
    ],
  },
});
