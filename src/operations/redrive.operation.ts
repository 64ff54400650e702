import * as z from "zod";
import { RESPONSES, operation, respond, runInput } from "./operation.ts";
import { redrive } from "./redrive.ts";
import type { Syntaxes } from "./syntax.ts";

const notRedriven = (code: string) => respond.refused(code, "The run cannot be redriven.");

export const redriveOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "redrive" }],
  help: "continue a run that failed for an infrastructure reason from its last checkpoint",
  input: runInput.extend({ why: z.string().default("") }),
  run: ({ world, by }, input) => redrive(world, { ...input, by }),
  outcomes: {
    redriven: RESPONSES.accepted,
    NotFailed: notRedriven("NotFailed"),
    NotInfrastructure: notRedriven("NotInfrastructure"),
    Compensated: notRedriven("Compensated"),
    HasParent: notRedriven("HasParent"),
    HasChildren: notRedriven("HasChildren"),
    Expired: notRedriven("Expired"),
    Late: notRedriven("Late"),
    missing: RESPONSES.missing,
    unreadable: RESPONSES.unreadable,
  },
  over: ["store", "http"],
  http: { method: "post", path: "/runs/{run}/redrive" },
});

export const redriveSyntax = (): Syntaxes => ({
  redrive: {
    group: "Steering",
    words: "<run>",
    flags: [
      { flag: "--by <name>", help: "who asks for it, for the record (default: you)" },
      { flag: "--why <text>", help: "why, for the record" },
    ],
  },
});
