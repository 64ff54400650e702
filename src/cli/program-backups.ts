/** The commands that write a backup of a store, and make a store from one. */
import type { Command } from "commander";
import type { Into } from "./arguments.ts";

export function addBackups(program: Command, { shell, ends }: Into): void {
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
}
