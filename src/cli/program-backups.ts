/** The commands for a store that is backed up, or comes from a backup: `backup`, `restore` and `restored`. */
import type { Command } from "commander";
import { HELP } from "../operations/help.ts";
import { type Into, reason } from "./arguments.ts";

export function addBackups(program: Command, { shell, ends }: Into): void {
  program.commandsGroup("Backups:");
  program
    .command("backup <file>")
    .description("write the embedded store to one new file, while its runs go on")
    .action(async (file: string, _, command: Command) =>
      ends((await import("./commands/backup.ts")).backUp(shell, { file, flags: command.optsWithGlobals() })),
    );
  program
    .command("restore <file>")
    .description("make an embedded store from a backup, in an empty place, and pause its runs")
    .action(async (file: string, _, command: Command) =>
      ends((await import("./commands/backup.ts")).restore(shell, { file, flags: command.optsWithGlobals() })),
    );
  program
    .command("checked [run]")
    .description(HELP.checked)
    .option("--all", HELP.checkedAll)
    .option("--yes", "with --all: do not ask")
    .option("--why <text>", "why, for the record", reason)
    .action(async (run: string | undefined, { all = false }: { all?: boolean }, command: Command) => {
      const flags = command.optsWithGlobals();
      if ((run === undefined) !== all) return command.error("error: name one run, or --all");
      const checked = await import("./commands/checked.ts");
      return ends(run === undefined ? checked.checkWholeStore(shell, flags) : checked.checkOne(shell, { run, flags }));
    });
  program
    .command("restored")
    .description(HELP.restored)
    .action(async (_, command: Command) =>
      ends((await import("./commands/restored.ts")).fenceStore(shell, command.optsWithGlobals())),
    );
}
