import * as z from "zod";
import { operation, reason, respond, runInput } from "./operation.ts";
import { UNDONE } from "./outcomes.ts";
import { undoAndRestart } from "./undo.ts";
import { type Syntaxes, WHY } from "./syntax.ts";

export const restartOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "restart" }],
  help: "the last resort: undo the effects of a run and begin again from its task; shows the cost first",
  input: runInput.extend({ confirmed: z.boolean().default(false), why: reason }),
  run: ({ world, by }, input) => undoAndRestart(world, { ...input, by }),
  outcomes: {
    ...UNDONE,
    notConfirmed: respond.unconfirmed("It has to be confirmed; the answer says what it costs."),
  },
  over: ["store", "http"],
  http: { method: "post", path: "/runs/{run}/restart" },
});

export const restartSyntax = (): Syntaxes => ({
  restart: {
    group: "Steering",
    words: "<run>",
    flags: [{ flag: "--yes", help: "confirm the restart", fills: "confirmed" }, WHY],
  },
});
