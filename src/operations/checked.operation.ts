import { checkRun } from "./checked.ts";
import { RESPONSES, operation, reason, respond, runInput } from "./operation.ts";
import type { Syntaxes } from "./syntax.ts";

export const checkedOperation = operation({
  scope: "approve",
  writes: true,
  typed: [{ command: "checked" }],
  help: "say that the external services were checked for what a restored run did: it asks no more",
  input: runInput.extend({ why: reason }),
  run: ({ world, by }, input) => checkRun(world, { run: input.run, by }),
  outcomes: {
    checked: RESPONSES.accepted,
    same: respond.done("It bears no mark of a restore, or it was said before."),
    missing: RESPONSES.missing,
    unreadable: RESPONSES.unreadable,
  },
  over: ["store", "http"],
  http: { method: "post", path: "/runs/{run}/checked" },
});

export const checkedSyntax = (): Syntaxes => ({
  checked: {
    group: "Backups",
    words: "[run]",
    flags: [
      { flagsOf: "checkedAll" },
      { flag: "--why <text>", help: "why, for the record", takes: { kind: "reason" } },
    ],
  },
});
