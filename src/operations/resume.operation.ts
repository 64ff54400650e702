import { operation, reason, runInput } from "./operation.ts";
import { STEERED } from "./outcomes.ts";
import { requestChange } from "./request-change.ts";
import { type Syntaxes, WHY } from "./syntax.ts";

export const resumeOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "resume" }],
  help: "resume a paused run, or make a run that waits for code or its model try again now",
  input: runInput.extend({ why: reason }),
  run: ({ world }, input) => requestChange(world, { run: input.run, want: "resume" }),
  outcomes: STEERED,
  over: ["store", "http"],
  http: { method: "post", path: "/runs/{run}/resume" },
});

export const resumeSyntax = (): Syntaxes => ({
  resume: { group: "Steering", words: "<run>", flags: [WHY, { flagsOf: "upgrade" }] },
});
