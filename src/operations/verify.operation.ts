import { type Verified, verify } from "../features/seals/verify.ts";
import { type RunMissing, RESPONSES, operation, respond, runInput } from "./operation.ts";
import type { Syntaxes } from "./syntax.ts";

export const verifyOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [{ command: "verify" }],
  help: "check that all data of a run or an export is unchanged and complete since its start",
  input: runInput,
  run: async (
    { world, onStep },
    input,
  ): Promise<RunMissing | { readonly kind: "whole" | "differs"; readonly verified: Verified }> => {
    const verified = await verify(world, { run: input.run, ...(onStep && { onStep }) });
    if (verified === null) return { kind: "missing" };
    return { kind: verified.findings.length === 0 ? "whole" : "differs", verified };
  },
  outcomes: {
    whole: respond.done("All data is unchanged and complete."),
    differs: { exit: "failed", status: 200, code: null, says: "Some data is changed or missing." },
    missing: RESPONSES.missing,
  },
  over: ["store", "http"],
  http: { method: "get", path: "/runs/{run}/verification" },
});

export const verifySyntax = (): Syntaxes => ({ verify: { group: "Inspecting", words: "<run>" } });
