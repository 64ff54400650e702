/**
 * `cairn purge RUN`: deletes a finished run with everything that it left behind, its archive included, before its
 * retention expires. Its idempotency key stays reserved, unless the operator passes `--forget-key`.
 */
import { isRunId } from "../../core/ids.ts";
import { type Row, hasEnded } from "../../protocol/row.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { CliError, EXIT } from "../errors.ts";
import { type Opened, attendantOf, openExisting } from "../open.ts";
import { contextOf, refusedAs } from "../perform.ts";
import { resolveRun, runGone, runUnreadable } from "./runs.ts";
import { type Shell, type StoreFlags, printDocument } from "../shell.ts";
import { commandLine, count, relative, timeOfDay } from "../render/words.ts";

export interface PurgeFlags extends StoreFlags {
  readonly keepArchive?: boolean;
  readonly yes?: boolean;
  readonly forgetKey?: boolean;
}

export async function purgeRun(
  shell: Shell,
  { run: text, flags }: { readonly run: string; readonly flags: PurgeFlags },
): Promise<number> {
  const opened = await openExisting(shell, flags);
  const { world, settings } = opened;
  const { command } = settings;
  const { keepArchive = false, forgetKey = false } = flags;
  const run = forgetKey && isRunId(text) ? text : await resolveRun(world, { text, command });
  const found = await world.table.read(run, world.clock.now());
  // The data of a run may be gone while its idempotency key is still reserved.
  if (found === null && !forgetKey) throw runGone(run, command("list"));
  // A purge that will be refused does not ask the user to confirm it first.
  if (found !== null && !hasEnded(found)) throw stillLive(opened, found);
  if (found !== null && flags.yes !== true) await confirm(shell, opened, found);
  const outcome = await performOperation(OPERATIONS.purge, contextOf(shell, opened), { run, keepArchive, forgetKey });
  if (outcome.kind === "missing") throw runGone(run, command("list"));
  if (outcome.kind === "unreadable") throw runUnreadable(run, command("verify", run));
  if (outcome.kind === "live") throw stillLive(opened, outcome.row);
  if (outcome.kind === "tooEarly") throw tooEarly(opened, { run, from: outcome.from });
  if (outcome.kind === "forgotten") return reportForgotten(shell, opened, outcome.tombstone);
  const { row } = outcome;
  opened.finishRemoval(row);
  const { agent, status, statusSince, version } = row;
  if (shell.json) printDocument(shell, { run, agent, status, version, purged: true, keyForgotten: forgetKey });
  else {
    const ended = `${status} ${relative(statusSince, world.clock.now())}`;
    const kept = keepArchive ? "; its archive is kept, if it has one" : "";
    shell.terminal.out(`removed ${shell.terminal.paintOut("bold", run)}  ${agent}: ${ended}, ${contentOf(row)}${kept}`);
    shell.terminal.out(
      forgetKey ? KEY_FREE : `its idempotency key stays reserved; to free it: ${command("purge", run, "--forget-key")}`,
    );
  }
  return EXIT.done;
}

const KEY_FREE = "its idempotency key is free: a start with it does the work again";

/** Reports that only the idempotency key was removed: the data was gone before. */
function reportForgotten(shell: Shell, { world }: Opened, tombstone: Tombstone): number {
  const { run, agent, status, endedAt } = tombstone;
  if (shell.json) printDocument(shell, { run, agent, status, purged: false, keyForgotten: true });
  else {
    const ended = `${status} ${relative(endedAt, world.clock.now())}`;
    const bold = shell.terminal.paintOut("bold", run);
    shell.terminal.out(`freed the idempotency key of ${bold}  ${agent}: ${ended}, its data was removed before`);
    shell.terminal.out(KEY_FREE);
  }
  return EXIT.done;
}

/** Shows the user which run will be deleted, and asks for a `yes`: a purge cannot be reversed. `--yes` skips this. */
async function confirm({ ask, terminal, argv }: Shell, { world }: Opened, row: Row): Promise<void> {
  const { run, agent, status, statusSince } = row;
  const what = `${run}  ${agent}: ${status} ${relative(statusSince, world.clock.now())}`;
  const answer =
    ask === null ? null : await ask(`remove ${terminal.paintErr("bold", what)}, ${contentOf(row)}? type yes: `);
  if (answer?.trim().toLowerCase() === "yes") return;
  const isAsked = answer !== null;
  throw new CliError({
    ...{ code: "NotConfirmed", exit: EXIT.usage, facts: { run } },
    what: isAsked ? `nothing was removed: the answer was not yes` : `a purge permanently removes ${what}`,
    why: isAsked ? "a purge cannot be taken back" : "there is no terminal to ask at, and a purge cannot be taken back",
    next: commandLine([...argv, "--yes"]),
  });
}

const contentOf = ({ version }: Row): string =>
  `with the snapshots and the transcript of ${count(version, "checkpoint")}, its ledger and its messages`;

/**
 * The refusal while the archive may still be written. A process that found `endNotified` unset may still be alive, and
 * would write the archive again after its deletion.
 */
function tooEarly(
  { settings, world }: Opened,
  { run, from }: { readonly run: string; readonly from: number },
): CliError {
  const now = world.clock.now();
  return refusedAs(OPERATIONS.purge, "tooEarly", {
    facts: { from },
    what: `the archive of run ${run} cannot be removed yet`,
    why: `until ${timeOfDay(from, now)} (${relative(from, now)}) a process may still write it; --keep-archive removes the run now`,
    next: settings.command("purge", run, "--keep-archive", "--yes"),
  });
}

/** The refusal for a run that has not ended: a process may be working on it. */
function stillLive(opened: Opened, { run, status, cancel }: Row): CliError {
  const { settings } = opened;
  const what = `run ${run} has not ended, it is ${status}`;
  if (!cancel) {
    const why = "only ended runs are removed; cancel it, and purge it when it has ended";
    return refusedAs(OPERATIONS.purge, "live", { what, why, next: settings.command("cancel", run) });
  }
  const isAttended = attendantOf(opened) !== null;
  const why = isAttended
    ? "only ended runs are removed; it was cancelled and is about to end"
    : "only ended runs are removed; it was cancelled, and no process works on this store to end it";
  const next = isAttended ? settings.command("watch", run) : settings.command("work");
  return refusedAs(OPERATIONS.purge, "live", { what, why, next });
}
