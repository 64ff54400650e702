/** The commands that work on the recorded history of a run: `export` and `replay`. */
import type { Command } from "commander";
import { OPERATIONS } from "../operations/table.ts";
import { type Into, wholeNumber } from "./arguments.ts";
import { exportToFile } from "./commands/export.ts";
import { replayRun } from "./commands/replay.ts";

export function addRecorded(program: Command, { shell, ends }: Into): void {
  program.commandsGroup("Recordings:");
  program
    .command("export <run>")
    .description(OPERATIONS.export.help)
    .option("--out <file>", "the file to write: gzipped if it ends in .gz, - for stdout (default: RUN.jsonl.gz)")
    .action((run: string, _, command: Command) => ends(exportToFile(shell, { run, flags: command.optsWithGlobals() })));
  program
    .command("replay <run>")
    .description(
      "replay a run or its export from its events, without a model or a tool, and compare it with what was stored",
    )
    .option("--at <version>", "stop at that version", wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option("--against <agent>", "also show the first request that today's agent would make differently")
    .action((run: string, _, command: Command) => ends(replayRun(shell, { run, flags: command.optsWithGlobals() })));
}
