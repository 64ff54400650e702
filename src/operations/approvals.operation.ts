import * as z from "zod";
import { listGates } from "./approvals.ts";
import { EVENT_BYTES_MAX } from "./event-page.ts";
import { operation, respond } from "./operation.ts";
import { type Syntaxes, tenantFlag } from "./syntax.ts";

export const approvalsOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [{ command: "approvals" }],
  help: "list the calls that wait for a human: for an approval, an answer, or a reconciliation",
  input: z.strictObject({
    after: z.string().nullable().default(null),
    bytesMax: z.int().positive().nullable().default(null),
  }),
  run: ({ world, tenant }, input) => listGates(world, { tenant, ...input }),
  outcomes: { listed: respond.done("The open gates, questions and unknown outcomes are listed.") },
  over: ["store", "http"],
  http: {
    method: "get",
    path: "/approvals",
    bounds: { bytesMax: z.int().min(1).max(EVENT_BYTES_MAX).default(EVENT_BYTES_MAX) },
  },
});

export const approvalsSyntax = (): Syntaxes => ({
  approvals: { group: "Steering", flags: [tenantFlag("the tenant of the runs")] },
});
