/** `cairn restored`: fences and pauses every run that has not ended, after a store was restored from a backup. */
import { OPERATIONS } from "../../operations/table.ts";
import { EXIT } from "../../compose/user-error.ts";
import { transportTo } from "../choose-transport.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";
import { type CommandBuilder, count, relative } from "../../render/words.ts";

/** What an operator has to know and to do after a restore. */
export const whatFollows = (command: CommandBuilder): readonly string[] => [
  "what a run did after that moment may have happened, and this store does not know it. So until you say otherwise",
  "  a call of class unsafe, or probed without a key of the agent's own, asks before its first attempt;",
  "  other probed calls are probed first; keyed and idempotent calls without such a key may be repeated under a new key;",
  "  a firing or a start with a key that may be of that time makes a paused run.",
  `check the external services, then ${command("checked", "RUN")} for one run, or ${command("checked", "--all")}`,
  `  ${command("resume", "RUN")} continues a run, ${command("cancel", "RUN")} ends it`,
];

export async function fenceStore(shell: Shell, flags: StoreFlags): Promise<number> {
  const transport = await transportTo(shell, flags);
  const { command } = transport;
  const { kind, restored } = await transport.perform("restored", {});
  const { asOf, runs, held, damaged } = restored;
  const exit = EXIT[OPERATIONS.restored.outcomes[kind].exit];
  if (shell.json) {
    printDocument(shell, restored);
    return exit;
  }
  const { terminal } = shell;
  terminal.out(
    `fenced, marked and paused ${count(runs.length, "run")} that had not ended, with the state of ${new Date(asOf).toISOString()}`,
  );
  for (const run of runs) terminal.out(`  ${run}  ${command("show", run)}`);
  for (const { run, until } of held) {
    const when = relative(until, transport.now());
    terminal.out(`not fenced: ${run} is held by an invocation; run ${command("restored")} again ${when}`);
  }
  for (const { run, why } of damaged)
    terminal.out(`not fenced: ${run} is damaged (${why}); see ${command("verify", run)}`);
  if (runs.length > 0) {
    for (const line of whatFollows(command)) terminal.out(line);
  }
  return exit;
}
