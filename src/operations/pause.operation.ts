import { operation, reason, runInput } from "./operation.ts";
import { STEERED } from "./outcomes.ts";
import { requestChange } from "./request-change.ts";
import { type Syntaxes, WHY } from "./syntax.ts";

export const pauseOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "pause" }],
  help: "pause a run after its current beat",
  input: runInput.extend({ why: reason }),
  run: ({ world }, input) => requestChange(world, { run: input.run, want: "pause" }),
  outcomes: STEERED,
  over: ["store", "http"],
  http: { method: "post", path: "/runs/{run}/pause" },
});

export const pauseSyntax = (): Syntaxes => ({ pause: { group: "Steering", words: "<run>", flags: [WHY] } });
