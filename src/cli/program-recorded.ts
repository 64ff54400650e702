/** The commands that work on the recorded history of a run: `export` and `replay`. */
import type { Command } from "commander";
import { OPERATIONS } from "../operations/table.ts";
import { type Into, wholeNumber } from "./arguments.ts";
import { exportToFile } from "./commands/export.ts";
import { replayRun } from "./commands/replay.ts";

export function addRecorded(program: Command, { shell, ends }: Into): void {
  program.commandsGroup("Recorded:");
  program
    .command("export <run>")
    .description(OPERATIONS.export.help)
    .option("--out <file>", "where to: gzipped if it ends in .gz, - for stdout (RUN.jsonl.gz)")
    .action((run: string, _, command: Command) => ends(exportToFile(shell, { run, flags: command.optsWithGlobals() })));
  program
    .command("replay <run>")
    .description("fold a run again, without a model or a tool, and compare it with what was stored; a run or its file")
    .option("--at <version>", "only up to that version", wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option("--against <agent>", "and tell the first request that the agent as it is today would make differently")
    .action((run: string, _, command: Command) => ends(replayRun(shell, { run, flags: command.optsWithGlobals() })));
}
