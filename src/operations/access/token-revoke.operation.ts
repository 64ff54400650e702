import * as z from "zod";
import { operation, respond } from "../operation.ts";
import { revokeToken } from "./tokens.ts";
import { type Syntaxes, tenantFlag } from "../syntax.ts";

export const tokenRevokeOperation = operation({
  scope: "admin",
  writes: true,
  typed: [{ command: "token revoke" }],
  help: "revoke an access token; the next request with it is refused",
  input: z.strictObject({ id: z.string() }),
  run: ({ world, tenant, by }, { id }) => revokeToken(world, { id, tenant, by }),
  outcomes: {
    revoked: respond.done("The token is revoked: the next request with it is refused."),
    already: respond.done("The token was revoked before."),
    unknown: { exit: "notFound", status: 404, code: "TokenUnknown", says: "The tenant has no token with this ID." },
  },
  over: ["store"],
  storeOnly: "no route revokes a token: an operator does that",
});

export const tokenRevokeSyntax = (): Syntaxes => ({
  "token revoke": { group: "Access", words: "<id>", flags: [tenantFlag("the tenant of the token")] },
});
