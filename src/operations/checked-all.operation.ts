import * as z from "zod";
import { operation, reason, respond } from "./operation.ts";
import type { CheckedStore } from "./restored.ts";
import type { Syntaxes } from "./syntax.ts";

export const checkedAllOperation = operation({
  scope: "admin",
  writes: true,
  typed: [{ command: "checked", option: "--all" }],
  help: "say so for the whole store: its runs, and starts and firings that wait for it; shows them first",
  input: z.strictObject({ confirmed: z.boolean().default(false), why: reason }),
  // The function of the API has no route for it, and must not load it.
  run: async ({ world, by }, input): Promise<CheckedStore> =>
    (await import("./restored.ts")).checkStore(world, { confirmed: input.confirmed, by }),
  outcomes: {
    checked: respond.done("No run of the store asks any more, and what waited for it starts."),
    partly: respond.refused("NotChecked", "Some runs are damaged, and still marked."),
    notConfirmed: respond.unconfirmed("It has to be confirmed; the answer names the runs."),
  },
  over: ["store"],
  storeOnly: "it needs the store itself, or the settings of the deployment",
});

export const checkedAllSyntax = (): Syntaxes => ({
  "checked --all": {
    flags: [
      { flag: "--all", help: checkedAllOperation.help },
      { flag: "--yes", help: "with --all: do not ask", fills: "confirmed" },
    ],
  },
});
