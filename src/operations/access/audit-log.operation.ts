import * as z from "zod";
import { isRunId } from "../../core/ids.ts";
import { RESPONSES, operation, respond } from "../operation.ts";
import { type AuditPage, readAudit } from "./audit.ts";
import { type Syntaxes, tenantFlag, wholeNumbers } from "../syntax.ts";

export const auditLogOperation = operation({
  scope: "admin",
  writes: false,
  typed: [{ command: "audit-log" }],
  help: "list who did what, when, from where and why, of a run or of all runs",
  input: z.strictObject({
    run: z.string().nullable().default(null),
    actor: z.string().nullable().default(null),
    since: z.int().nonnegative().nullable().default(null),
    after: z.string().nullable().default(null),
  }),
  run: async ({ world, tenant }, input): Promise<AuditPage | { readonly kind: "missing" }> => {
    // Another tenant's run is missing without a read. A run that was removed still has its records.
    const isTheirs = input.run === null || (isRunId(input.run) && input.run.startsWith(`${tenant}-`));
    return isTheirs ? readAudit(world, { ...input, tenant }) : { kind: "missing" };
  },
  outcomes: { listed: respond.done("The records are listed, newest first."), missing: RESPONSES.missing },
  over: ["store", "http"],
  http: { method: "get", path: "/audit-log" },
});

export const auditLogSyntax = (): Syntaxes => ({
  "audit-log": {
    group: "Access",
    words: "[run]",
    flags: [
      { flag: "--since <time>", help: "only from then on: 2h, 7d, or a date such as 2026-11-25" },
      { flag: "--actor <name>", help: "only of this actor" },
      { flag: "--limit <n>", help: "at most this many", takes: wholeNumbers(1, 100_000), default: 100 },
      tenantFlag("the tenant, where no run is named"),
    ],
  },
});
