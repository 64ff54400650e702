/**
 * `cairn checked RUN` and `cairn checked --all`: an operator says that the external services were checked for what
 * restored runs did in the lost time. They ask no more then.
 */
import { OPERATIONS } from "../../operations/table.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { reportRequested } from "../accepted.ts";
import { commandLine, count } from "../../render/words.ts";
import { type Shell, printDocument } from "../shell.ts";
import { runUnreadable } from "./runs.ts";
import type { ReasonFlags } from "./steer.ts";
import { transportTo, transportToRun } from "../choose-transport.ts";

export async function checkOne(
  shell: Shell,
  typed: { readonly run: string; readonly flags: ReasonFlags },
): Promise<number> {
  const { transport, run } = await transportToRun(shell, typed);
  const { command } = transport;
  const { why = "" } = typed.flags;
  const outcome = await transport.perform("checked", { run, why });
  if (outcome.kind === "missing") throw transport.gone(run);
  if (outcome.kind === "unreadable") throw runUnreadable(run, command("show", run));
  const isChecked = outcome.kind === "checked";
  await reportRequested(shell, transport, {
    document: { run, checked: isChecked },
    says: isChecked
      ? [`${run} asks no more about the time before its restore`]
      : [`${run} was not restored, or it was said before`],
  });
  return EXIT.done;
}

/** Runs that are named before the question; the others are counted. */
const NAMED = 10;

export async function checkWholeStore(shell: Shell, flags: ReasonFlags & { readonly yes?: boolean }): Promise<number> {
  const transport = await transportTo(shell, flags);
  const seen = await transport.perform("checkedAll", {});
  const isOpen = seen.store !== null || seen.runs.length > 0;
  if (isOpen) await confirm(shell, { runs: seen.runs, isSure: flags.yes === true });
  const { why = "" } = flags;
  const outcome = isOpen
    ? await transport.perform("checkedAll", { confirmed: true, why })
    : { ...seen, kind: "checked" as const };
  const { runs, damaged, kind } = outcome;
  const { terminal } = shell;
  if (shell.json) printDocument(shell, { runs, damaged });
  else if (!isOpen) terminal.out("this store was not restored, or it was said before");
  else terminal.out(`${count(runs.length, "run")} ask no more; keyed starts and firings that waited go on`);
  for (const { run, why: says } of shell.json ? [] : damaged)
    terminal.err(`run ${run} is damaged (${says}) and still marked; type \`${transport.command("verify", run)}\``);
  return EXIT[OPERATIONS.checkedAll.outcomes[kind].exit];
}

async function confirm(
  { ask, terminal, argv }: Shell,
  { runs, isSure }: { readonly runs: readonly string[]; readonly isSure: boolean },
): Promise<void> {
  if (isSure) return;
  for (const run of runs.slice(0, NAMED)) terminal.err(run);
  if (runs.length > NAMED) terminal.err(`and ${runs.length - NAMED} others`);
  const what = `the external services were checked for ${count(runs.length, "restored run")}`;
  const answer = ask === null ? null : await ask(`${what}, and nothing will ask any more? type yes: `);
  if (answer?.trim().toLowerCase() === "yes") return;
  throw new UserError({
    code: "NotConfirmed",
    exit: EXIT.usage,
    facts: { runs },
    what: "nothing was changed: this says that all external services were checked",
    why: answer === null ? "there is no terminal to ask at" : "the answer was not yes",
    next: commandLine([...argv, "--yes"]),
  });
}
