import { type DiagnosisLine, diagnose } from "./diagnose.ts";
import { type RunMissing, RESPONSES, operation, runInput } from "./operation.ts";
import type { Syntaxes } from "./syntax.ts";

export const diagnoseOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [{ command: "diagnose" }],
  help: "which typical failure a run shows, the evidence, and what to do first",
  input: runInput,
  run: async (
    { world },
    input,
  ): Promise<RunMissing | { readonly kind: "shown"; readonly findings: readonly DiagnosisLine[] }> => {
    const findings = await diagnose(world, input.run);
    return findings === null ? { kind: "missing" } : { kind: "shown", findings };
  },
  outcomes: { shown: RESPONSES.shown, missing: RESPONSES.missing },
  over: ["store", "http"],
  http: { method: "get", path: "/runs/{run}/diagnosis" },
});

export const diagnoseSyntax = (): Syntaxes => ({ diagnose: { group: "Inspecting", words: "<run>" } });
