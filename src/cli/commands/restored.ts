/** `cairn restored`: fences and pauses every run that has not ended, after a store was restored from a backup. */
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { EXIT } from "../errors.ts";
import { openExisting } from "../open.ts";
import { contextOf } from "../perform.ts";
import { type Shell, type StoreFlags, printDocument } from "../shell.ts";
import { count, relative } from "../render/words.ts";

export async function fenceStore(shell: Shell, flags: StoreFlags): Promise<number> {
  const opened = await openExisting(shell, flags);
  const { world, settings } = opened;
  const { command } = settings;
  const { kind, restored } = await performOperation(OPERATIONS.restored, contextOf(shell, opened), {});
  const { runs, held, damaged } = restored;
  const exit = EXIT[OPERATIONS.restored.outcomes[kind].exit];
  if (shell.json) {
    printDocument(shell, restored);
    return exit;
  }
  const { terminal } = shell;
  terminal.out(
    `fenced and paused ${count(runs.length, "run")} that had not ended; runs that ended before the backup are unchanged`,
  );
  for (const run of runs) terminal.out(`  ${run}  ${command("show", run)}`);
  for (const { run, until } of held) {
    const when = relative(until, world.clock.now());
    terminal.out(`not fenced: ${run} is held by an invocation; run ${command("restored")} again ${when}`);
  }
  for (const { run, why } of damaged)
    terminal.out(`not fenced: ${run} is damaged (${why}); see ${command("verify", run)}`);
  if (runs.length > 0) {
    terminal.out("a run repeats what it did after the backup: check the external services that it acts on, then");
    terminal.out(`  ${command("resume", "RUN")} continues it, ${command("cancel", "RUN")} ends it`);
  }
  return exit;
}
