import { type RunReceipt, runReceiptSteps } from "../history/run-receipt.ts";
import { inTurns } from "../history/stepwise.ts";
import { type RunMissing, RESPONSES, operation, runInput } from "./operation.ts";
import { timeline } from "./views.ts";
import type { Syntaxes } from "./syntax.ts";

export const costOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [{ command: "cost" }],
  help: "show what a run spent on models and AWS, and what its recoveries spared",
  input: runInput,
  run: async ({ world }, input): Promise<RunMissing | { readonly kind: "shown"; readonly receipt: RunReceipt }> => {
    const events = await timeline(world, { run: input.run, after: 0 });
    if (events === null) return { kind: "missing" };
    return { kind: "shown", receipt: await inTurns(runReceiptSteps(events), world.reading?.turn) };
  },
  outcomes: { shown: RESPONSES.shown, missing: RESPONSES.missing },
  over: ["store", "http"],
  http: { method: "get", path: "/runs/{run}/cost" },
});

export const costSyntax = (): Syntaxes => ({ cost: { group: "Inspecting", words: "<run>" } });
