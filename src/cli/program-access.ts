/** The commands that give access to the HTTP API, and show who used it: tokens, and the audit log. */
import { type Command, InvalidArgumentError } from "commander";
import { DEFAULT_TENANT } from "../core/ids.ts";
import { HELP } from "../operations/help.ts";
import { type Into, wholeNumber } from "./arguments.ts";

/** The words of `--scopes`. A list of its own, so that `cairn --help` loads no operation. */
const SCOPE_WORDS = ["runs:read", "runs:write", "approve", "admin"] as const;

const TENANT = ["--tenant <name>", "the tenant of the token", DEFAULT_TENANT] as const;

export function addAccess(program: Command, { shell, ends }: Into): void {
  program.commandsGroup("Access:");
  addAuditLog(program, { shell, ends });
  const token = program.command("token").description("make, list and revoke access tokens for the HTTP API");
  token
    .command("create")
    .description(HELP.tokenCreate)
    .option(...TENANT)
    .requiredOption("--scopes <list>", `what it may do: ${SCOPE_WORDS.join(",")}`, scopesIn)
    .option("--expires <time>", "how long it is valid: 12h, 30d, or never", "90d")
    .option("--name <text>", "who uses it, for the audit log")
    .action(async (_, command: Command) =>
      ends((await import("./commands/token.ts")).createAccess(shell, command.optsWithGlobals())),
    );
  token
    .command("list")
    .description(HELP.tokenList)
    .option(...TENANT)
    .action(async (_, command: Command) =>
      ends((await import("./commands/token.ts")).listAccess(shell, command.optsWithGlobals())),
    );
  token
    .command("revoke <id>")
    .description(HELP.tokenRevoke)
    .option(...TENANT)
    .action(async (id: string, _, command: Command) =>
      ends((await import("./commands/token.ts")).revokeAccess(shell, { id, flags: command.optsWithGlobals() })),
    );
}

function addAuditLog(program: Command, { shell, ends }: Into): void {
  program
    .command("audit-log [run]")
    .description(HELP.auditLog)
    .option("--since <time>", "only from then on: 2h, 7d, or a date such as 2026-11-25")
    .option("--actor <name>", "only of this actor")
    .option("--limit <n>", "at most this many", wholeNumber(1, 100_000), 100)
    .option("--tenant <name>", "the tenant, where no run is named", DEFAULT_TENANT)
    .action(async (run: string | undefined, _, command: Command) =>
      ends(
        (await import("./commands/audit-log.ts")).showAuditLog(shell, {
          run: run ?? null,
          flags: command.optsWithGlobals(),
        }),
      ),
    );
}

type ScopeWord = (typeof SCOPE_WORDS)[number];

function scopesIn(text: string): readonly ScopeWord[] {
  const words = text.split(",").map((word) => word.trim());
  const unknown = words.find((word) => !SCOPE_WORDS.includes(word as ScopeWord));
  if (unknown === undefined) return words as ScopeWord[];
  throw new InvalidArgumentError(`${unknown || "nothing"} is no scope: write ${SCOPE_WORDS.join(", ")}.`);
}
