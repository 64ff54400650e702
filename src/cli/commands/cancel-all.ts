/** `cairn cancel --all --agent AGENT`: cancels every live run of an agent, after it has shown them. */
import type { RunToCancel } from "../../operations/cancel-all.ts";
import { DEFAULT_TENANT } from "../../core/ids.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { transportTo } from "../choose-transport.ts";
import { commandLine, count } from "../../render/words.ts";
import type { ReasonFlags } from "./steer.ts";
import { type Shell, printDocument } from "../shell.ts";

export interface CancelAllFlags extends ReasonFlags {
  readonly agent?: string;
  readonly tenant?: string;
  readonly yes?: boolean;
}

/** Runs that are named before the question; the others are counted. */
const NAMED = 10;

export async function cancelAllRuns(shell: Shell, flags: CancelAllFlags): Promise<number> {
  const { agent, why = "" } = flags;
  if (agent === undefined) throw noAgent(shell);
  const transport = await transportTo(shell, flags);
  const local = { tenant: flags.tenant ?? DEFAULT_TENANT };
  const seen = await transport.perform("cancelAll", { agent }, local);
  if (seen.runs.length > 0) await confirm(shell, { agent, ...seen, isSure: flags.yes === true });
  const cancelled: RunToCancel[] = [];
  const failed: string[] = [];
  for (let more = seen.runs.length > 0; more;) {
    const outcome = await transport.perform("cancelAll", { agent, confirmed: true, why }, local);
    if (outcome.kind === "notConfirmed") break;
    cancelled.push(...outcome.runs);
    failed.push(...outcome.failed);
    // A pass that asks no run is the last one. Runs that cannot be asked are found again each time.
    more = outcome.runs.length > 0;
  }
  const unreached = [...new Set(failed)];
  if (shell.json) printDocument(shell, { agent, cancelled: cancelled.map(({ run }) => run), failed: unreached });
  else if (cancelled.length + unreached.length === 0) shell.terminal.out(`no live run of ${agent}`);
  else shell.terminal.out(`${count(cancelled.length, "run")} of ${agent} will end; they start no new call`);
  for (const run of shell.json ? [] : unreached)
    shell.terminal.err(`run ${run} cannot be read; type \`${transport.command("verify", run)}\``);
  return unreached.length === 0 ? EXIT.done : EXIT.failed;
}

async function confirm(
  { ask, terminal, argv }: Shell,
  {
    agent,
    runs,
    more,
    isSure,
  }: {
    readonly agent: string;
    readonly runs: readonly RunToCancel[];
    readonly more: boolean;
    readonly isSure: boolean;
  },
): Promise<void> {
  if (isSure) return;
  const many = `${more ? "more than " : ""}${count(runs.length, "live run")} of ${agent}`;
  for (const { run, status } of runs.slice(0, NAMED)) terminal.err(`${run}  ${status}`);
  if (runs.length > NAMED || more) terminal.err(`and ${more ? "more than " : ""}${runs.length - NAMED} others`);
  const answer = ask === null ? null : await ask(`cancel ${terminal.paintErr("bold", many)}? type yes: `);
  if (answer?.trim().toLowerCase() === "yes") return;
  throw new UserError({
    code: "NotConfirmed",
    exit: EXIT.usage,
    facts: { runs: runs.map(({ run }) => run) },
    what: `nothing was cancelled: this cancels ${many}`,
    why: answer === null ? "there is no terminal to ask at" : "the answer was not yes",
    next: commandLine([...argv, "--yes"]),
  });
}

function noAgent({ argv }: Shell): UserError {
  return new UserError({
    code: "Usage",
    exit: EXIT.usage,
    what: "--all needs an agent",
    why: "it cancels the runs of one agent at a time",
    next: commandLine([...argv, "--agent", "AGENT"]),
  });
}
