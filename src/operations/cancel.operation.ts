import * as z from "zod";
import { operation, reason, runInput } from "./operation.ts";
import { STEERED, UNDONE } from "./outcomes.ts";
import { type ChangeRequested, requestChange } from "./request-change.ts";
import { type Undone, undoAndCancel } from "./undo.ts";
import { type Syntaxes, WHY } from "./syntax.ts";

export const cancelOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "cancel" }],
  help: "end a run; it starts no new call",
  input: runInput.extend({ compensate: z.boolean().default(false), why: reason }),
  run: ({ world, by }, input): Promise<ChangeRequested | Undone> =>
    input.compensate
      ? undoAndCancel(world, { run: input.run, by })
      : requestChange(world, { run: input.run, want: "cancel" }),
  outcomes: { ...STEERED, ...UNDONE },
  over: ["store", "http"],
  http: { method: "post", path: "/runs/{run}/cancel" },
});

export const cancelSyntax = (): Syntaxes => ({
  cancel: {
    group: "Steering",
    words: "[run]",
    flags: [
      WHY,
      { flag: "--compensate", help: "undo its effects before it ends, newest first" },
      { flagsOf: "cancelAll" },
    ],
  },
});
