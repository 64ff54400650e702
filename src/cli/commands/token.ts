/** `cairn token`: makes, lists and revokes access tokens. A token is printed once; the store keeps only its digest. */
import { isTenant } from "../../core/ids.ts";
import type { ShownToken } from "../../operations/access/check-token.ts";
import type { Scope } from "../../operations/operation.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { durationMs } from "../../sdk/duration.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { refusedAs } from "../perform.ts";
import { settingsOf } from "../../compose/settings.ts";
import { retyped, relative } from "../../render/words.ts";
import { transportFor, transportTo } from "../choose-transport.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument, printLines } from "../shell.ts";
import { fittedTable } from "../../render/paint.ts";

interface TokenFlags extends StoreFlags {
  readonly tenant: string;
}

export async function createAccess(
  shell: Shell,
  flags: TokenFlags & { readonly scopes: readonly Scope[]; readonly expires: string; readonly name?: string },
): Promise<number> {
  const { tenant, scopes, expires, name = null } = flags;
  checkTenant(shell, tenant);
  const lifeMs = expires === "never" ? null : durationMs(expires);
  if (lifeMs === null && expires !== "never") {
    const why = "it is a whole number with s, m, h or d, such as 30d, or the word never";
    const next = retyped(shell, "--expires", "30d");
    throw new UserError({ code: "Usage", exit: EXIT.usage, what: `${expires} is no time`, why, next });
  }
  // The first token may be made before the first run.
  const settings = await settingsOf(shell, flags);
  const transport = await transportFor(shell, settings, { create: true });
  const local = { tenant, by: `${shell.user()}@${shell.host()}` };
  const { secret, token } = await transport.perform(
    "tokenCreate",
    {
      scopes: [...scopes],
      lifeMs,
      name,
    },
    local,
  );
  if (shell.json) printDocument(shell, { secret, ...token });
  else {
    const until =
      token.expiresAt === null ? "does not expire" : `expires ${relative(token.expiresAt, token.createdAt)}`;
    shell.terminal.out(secret);
    shell.terminal.err(`token ${token.token} of tenant ${tenant} may ${token.scopes.join(", ")}, and ${until}`);
    shell.terminal.err("it is shown only now; keep it in CAIRN_TOKEN or in a secret store");
  }
  return EXIT.done;
}

export async function listAccess(shell: Shell, flags: TokenFlags): Promise<number> {
  const transport = await transportTo(shell, flags);
  const local = { tenant: flags.tenant };
  const tokens: ShownToken[] = [];
  const damaged: string[] = [];
  for (let after: string | null = null, isMore = true; isMore;) {
    const page: Awaited<ReturnType<(typeof OPERATIONS)["tokenList"]["run"]>> = await transport.perform(
      "tokenList",
      { after },
      local,
    );
    tokens.push(...page.tokens);
    damaged.push(...page.damaged);
    after = page.next;
    isMore = after !== null;
  }
  if (shell.json) {
    printLines(shell, [...tokens, ...damaged.map((token) => ({ token, damaged: "it cannot be read" }))]);
    return EXIT.done;
  }
  if (tokens.length > 0) shell.terminal.out(tableOf(shell, tokens, transport.now()));
  else if (damaged.length === 0) shell.terminal.out("there is no token");
  const another = transport.command("token", "create", "--tenant", flags.tenant, "--scopes", "SCOPES");
  for (const token of damaged)
    shell.terminal.out(`${token} cannot be read, so it lets no request in; make another one: ${another}`);
  return EXIT.done;
}

function tableOf({ terminal }: Shell, tokens: readonly ShownToken[], now: number): string {
  const columns = ["TOKEN", "NAME", "SCOPES", "STATE", "MADE BY"].map((title) => ({ title }));
  const rows = tokens.map((token) => [
    token.token,
    token.name ?? "",
    token.scopes.join(","),
    stateOf(token, now),
    token.createdBy,
  ]);
  return fittedTable(columns, rows, { paint: terminal.paintOut, width: terminal.width }).join("\n");
}

function stateOf({ revoked, expiresAt }: ShownToken, now: number): string {
  if (revoked !== null) return `revoked ${relative(revoked.at, now)} by ${revoked.by}`;
  if (expiresAt === null) return "does not expire";
  return `${expiresAt <= now ? "expired" : "expires"} ${relative(expiresAt, now)}`;
}

export async function revokeAccess(
  shell: Shell,
  { id, flags }: { readonly id: string; readonly flags: TokenFlags },
): Promise<number> {
  const transport = await transportTo(shell, flags);
  const { tenant } = flags;
  const local = { tenant, by: `${shell.user()}@${shell.host()}` };
  const outcome = await transport.perform("tokenRevoke", { id }, local);
  if (outcome.kind === "unknown") {
    const next = transport.command("token", "list", "--tenant", tenant);
    const [what, why] = [`tenant ${tenant} has no token ${id}`, "write the ID of the token, not its text"];
    throw refusedAs(OPERATIONS.tokenRevoke, "unknown", { what, why, next });
  }
  const { token } = outcome;
  const when = outcome.kind === "already" ? "was revoked before" : "is revoked: the next request with it is refused";
  if (shell.json) printDocument(shell, token);
  else shell.terminal.out(`token ${token.token} ${when}`);
  return EXIT.done;
}

function checkTenant(shell: Shell, tenant: string): void {
  if (isTenant(tenant)) return;
  const why = "a tenant is 1 to 24 lower-case letters and digits";
  const next = retyped(shell, "--tenant", "acme");
  throw new UserError({ code: "Usage", exit: EXIT.usage, what: `${tenant} is not a tenant`, why, next });
}
