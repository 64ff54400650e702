import * as z from "zod";
import { operation, respond } from "../operation.ts";
import { listTokens } from "./tokens.ts";
import { type Syntaxes, tenantFlag } from "../syntax.ts";

export const tokenListOperation = operation({
  scope: "admin",
  writes: false,
  typed: [{ command: "token list" }],
  help: "list the access tokens of a tenant, without their secrets",
  input: z.strictObject({ after: z.string().nullable().default(null) }),
  run: ({ world, tenant }, { after }) => listTokens(world, { tenant, after }),
  outcomes: { listed: respond.done("The tokens are listed.") },
  over: ["store"],
  storeOnly: "no route lists tokens, so that a stolen one shows no other",
});

export const tokenListSyntax = (): Syntaxes => ({
  "token list": { group: "Access", flags: [tenantFlag("the tenant of the token")] },
});
