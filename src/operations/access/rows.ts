/** The operations on access tokens and the audit log, as rows of the operation table. No route creates a token: a stolen one makes no other. */
import * as z from "zod";
import { HELP } from "../help.ts";
import { isRunId } from "../../core/ids.ts";
import { RESPONSES, SCOPES, operation, respond } from "../operation.ts";
import { type AuditPage, readAudit } from "./audit.ts";
import { createToken, listTokens, revokeToken } from "./tokens.ts";

/** Ten years. */
const LIFE_MS_MAX = 3_653 * 24 * 3_600_000;
const NAME_CHARACTERS_MAX = 100;

export const ACCESS_ROWS = {
  tokenCreate: operation({
    ...{ scope: "admin", writes: true, typed: [{ command: "token create" }] },
    help: HELP.tokenCreate,
    input: z.strictObject({
      scopes: z.array(z.enum(SCOPES)).min(1),
      name: z.string().max(NAME_CHARACTERS_MAX).nullable().default(null),
      lifeMs: z.int().positive().max(LIFE_MS_MAX).nullable().default(null),
    }),
    run: ({ world, tenant, by }, of) => createToken(world, { ...of, tenant, by }),
    outcomes: { created: respond.done("The token is made; its text is shown once.") },
  }),
  tokenList: operation({
    ...{ scope: "admin", writes: false, typed: [{ command: "token list" }] },
    help: HELP.tokenList,
    input: z.strictObject({ after: z.string().nullable().default(null) }),
    run: ({ world, tenant }, { after }) => listTokens(world, { tenant, after }),
    outcomes: { listed: respond.done("The tokens are listed.") },
  }),
  tokenRevoke: operation({
    ...{ scope: "admin", writes: true, typed: [{ command: "token revoke" }] },
    help: HELP.tokenRevoke,
    input: z.strictObject({ id: z.string() }),
    run: ({ world, tenant, by }, { id }) => revokeToken(world, { id, tenant, by }),
    outcomes: {
      revoked: respond.done("The token is revoked: the next request with it is refused."),
      already: respond.done("The token was revoked before."),
      unknown: { exit: "notFound", status: 404, code: "TokenUnknown", says: "The tenant has no token with this ID." },
    },
  }),
  auditLog: operation({
    ...{ scope: "admin", writes: false, typed: [{ command: "audit-log" }] },
    help: HELP.auditLog,
    input: z.strictObject({
      run: z.string().nullable().default(null),
      actor: z.string().nullable().default(null),
      since: z.int().nonnegative().nullable().default(null),
      after: z.string().nullable().default(null),
    }),
    run: async ({ world, tenant }, of): Promise<AuditPage | { readonly kind: "missing" }> => {
      // Another tenant's run is missing without a read. A run that was removed still has its records.
      const isTheirs = of.run === null || (isRunId(of.run) && of.run.startsWith(`${tenant}-`));
      return isTheirs ? readAudit(world, { ...of, tenant }) : { kind: "missing" };
    },
    outcomes: { listed: respond.done("The records are listed, newest first."), missing: RESPONSES.missing },
    http: { method: "get", path: "/audit-log" },
  }),
} as const;
