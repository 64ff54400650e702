import * as z from "zod";
import { SCOPES, operation, respond } from "../operation.ts";
import { createToken } from "./tokens.ts";
import { type Syntaxes, tenantFlag } from "../syntax.ts";

/** Ten years. */
const LIFE_MS_MAX = 3_653 * 24 * 3_600_000;
const NAME_CHARACTERS_MAX = 100;

export const tokenCreateOperation = operation({
  scope: "admin",
  writes: true,
  typed: [{ command: "token create" }],
  help: "make an access token for the HTTP API; its text is shown once",
  input: z.strictObject({
    scopes: z.array(z.enum(SCOPES)).min(1),
    name: z.string().max(NAME_CHARACTERS_MAX).nullable().default(null),
    lifeMs: z.int().positive().max(LIFE_MS_MAX).nullable().default(null),
  }),
  run: ({ world, tenant, by }, input) => createToken(world, { ...input, tenant, by }),
  outcomes: { created: respond.done("The token is made; its text is shown once.") },
  over: ["store"],
  storeOnly: "no route makes a token, so that a stolen one makes no other",
});

export const tokenCreateSyntax = (): Syntaxes => ({
  "token create": {
    group: "Access",
    flags: [
      tenantFlag("the tenant of the token"),
      {
        flag: "--scopes <list>",
        help: `what it may do: ${SCOPES.join(",")}`,
        takes: { kind: "scopes" },
        required: true,
      },
      { flag: "--expires <time>", help: "how long it is valid: 12h, 30d, or never", default: "90d", fills: "lifeMs" },
      { flag: "--name <text>", help: "who uses it, for the audit log" },
    ],
  },
});
