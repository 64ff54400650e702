/**
 * `cairn purge RUN`: deletes a finished run with everything that it left behind, its archive included, before its
 * retention expires. Its idempotency key stays reserved, unless the operator passes `--forget-key`.
 */
import { isRunId } from "../../core/ids.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { refusedAs } from "../perform.ts";
import { runUnreadable } from "./runs.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";
import { commandLine, count, relative, timeOfDay } from "../../render/words.ts";
import { transportTo } from "../choose-transport.ts";
import type { BriefRun, Transport } from "../transport.ts";

export interface PurgeFlags extends StoreFlags {
  readonly keepArchive?: boolean;
  readonly yes?: boolean;
  readonly forgetKey?: boolean;
}

export async function purgeRun(
  shell: Shell,
  { run: text, flags }: { readonly run: string; readonly flags: PurgeFlags },
): Promise<number> {
  const transport = await transportTo(shell, flags);
  const { command } = transport;
  const { keepArchive = false, forgetKey = false } = flags;
  const run = forgetKey && isRunId(text) ? text : await transport.resolve(text);
  if (flags.yes !== true) await confirmPurge(shell, transport, { run, forgetKey });
  const outcome = await transport.perform("purge", { run, keepArchive, forgetKey });
  if (outcome.kind === "missing") throw transport.gone(run);
  if (outcome.kind === "unreadable") throw runUnreadable(run, command("verify", run));
  if (outcome.kind === "live")
    throw await stillLive(transport, { ...outcome.summary, isCancelled: outcome.isCancelled });
  if (outcome.kind === "tooEarly") throw tooEarly(transport, { run, from: outcome.from });
  if (outcome.kind === "forgotten") return reportForgotten(shell, transport, outcome.tombstone);
  const { agent, status, statusSince, version } = outcome.summary;
  if (shell.json) printDocument(shell, { run, agent, status, version, purged: true, keyForgotten: forgetKey });
  else {
    const ended = `${status} ${relative(statusSince, transport.now())}`;
    const kept = keepArchive ? "; its archive is kept, if it has one" : "";
    shell.terminal.out(
      `removed ${shell.terminal.paintOut("bold", run)}  ${agent}: ${ended}, ${contentOf(version)}${kept}`,
    );
    shell.terminal.out(
      forgetKey ? KEY_FREE : `its idempotency key stays reserved; to free it: ${command("purge", run, "--forget-key")}`,
    );
  }
  return EXIT.done;
}

const KEY_FREE = "its idempotency key is free: a start with it does the work again";

/** Reports that only the idempotency key was removed: the data was gone before. */
function reportForgotten(shell: Shell, { now }: Transport, tombstone: Tombstone): number {
  const { run, agent, status, endedAt } = tombstone;
  if (shell.json) printDocument(shell, { run, agent, status, purged: false, keyForgotten: true });
  else {
    const ended = `${status} ${relative(endedAt, now())}`;
    const bold = shell.terminal.paintOut("bold", run);
    shell.terminal.out(`freed the idempotency key of ${bold}  ${agent}: ${ended}, its data was removed before`);
    shell.terminal.out(KEY_FREE);
  }
  return EXIT.done;
}

/** A confirmed purge looks at nothing before: a damaged run is purged as well, and with no other right than that. */
async function confirmPurge(
  shell: Shell,
  transport: Transport,
  { run, forgetKey }: { readonly run: string; readonly forgetKey: boolean },
): Promise<void> {
  const found = await transport.summary(run);
  // The data of a run may be gone while its idempotency key is still reserved.
  if (found === null && !forgetKey) throw transport.gone(run);
  // A purge that will be refused does not ask the user to confirm it first.
  if (found?.inProgress === true) throw await stillLive(transport, found);
  if (found !== null) await confirm(shell, transport, found);
}

/** Shows the user which run will be deleted, and asks for a `yes`: a purge cannot be reversed. `--yes` skips this. */
async function confirm({ ask, terminal, argv }: Shell, transport: Transport, ended: BriefRun): Promise<void> {
  const { run, agent, status, statusSince, version } = ended;
  const what = `${run}  ${agent}: ${status} ${relative(statusSince, transport.now())}`;
  const answer =
    ask === null ? null : await ask(`remove ${terminal.paintErr("bold", what)}, ${contentOf(version)}? type yes: `);
  if (answer?.trim().toLowerCase() === "yes") return;
  const isAsked = answer !== null;
  throw new UserError({
    code: "NotConfirmed",
    exit: EXIT.usage,
    facts: { run },
    what: isAsked ? `nothing was removed: the answer was not yes` : `a purge permanently removes ${what}`,
    why: isAsked ? "a purge cannot be taken back" : "there is no terminal to ask at, and a purge cannot be taken back",
    next: commandLine([...argv, "--yes"]),
  });
}

const contentOf = (version: number): string =>
  `with the snapshots and the transcript of ${count(version, "checkpoint")}, its ledger and its messages`;

/**
 * The refusal while the archive may still be written. A process that found `endNotified` unset may still be alive, and
 * would write the archive again after its deletion.
 */
function tooEarly(transport: Transport, { run, from }: { readonly run: string; readonly from: number }): UserError {
  const now = transport.now();
  return refusedAs(OPERATIONS.purge, "tooEarly", {
    facts: { from },
    what: `the archive of run ${run} cannot be removed yet`,
    why: `until ${timeOfDay(from, now)} (${relative(from, now)}) a process may still write it; --keep-archive removes the run now`,
    next: transport.command("purge", run, "--keep-archive", "--yes"),
  });
}

/** The refusal for a run that has not ended: a process may be working on it. */
async function stillLive(
  transport: Transport,
  { run, status, isCancelled }: Pick<BriefRun, "run" | "status" | "isCancelled">,
): Promise<UserError> {
  const { command } = transport;
  const what = `run ${run} has not ended, it is ${status}`;
  if (!isCancelled) {
    const why = "only ended runs are removed; cancel it, and purge it when it has ended";
    return refusedAs(OPERATIONS.purge, "live", { what, why, next: command("cancel", run) });
  }
  const isAttended = (await transport.attendant()) !== null;
  const why = isAttended
    ? "only ended runs are removed; it was cancelled and is about to end"
    : "only ended runs are removed; it was cancelled, and no process works on this store to end it";
  const next = isAttended ? command("watch", run) : command("work");
  return refusedAs(OPERATIONS.purge, "live", { what, why, next });
}
