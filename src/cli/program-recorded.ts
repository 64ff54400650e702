/** The commands that work on the recorded history of a run: `export`, `file`, `replay` and `pin`. */
import type { Command } from "commander";
import { HELP } from "../operations/help.ts";
import { type Into, wholeNumber } from "./arguments.ts";

export function addRecorded(program: Command, { shell, ends }: Into): void {
  program.commandsGroup("Recordings:");
  program
    .command("export <run>")
    .description(HELP.export)
    .option("--out <file>", "the file to write: gzipped if it ends in .gz, - for stdout (default: RUN.jsonl.gz)")
    .action(async (run: string, _, command: Command) =>
      ends((await import("./commands/export.ts")).exportToFile(shell, { run, flags: command.optsWithGlobals() })),
    );
  program
    .command("file <run> <file>")
    .description(HELP.file)
    .option("--out <path>", "where to write it (default: the name of the file)")
    .action(async (run: string, file: string, _, command: Command) =>
      ends((await import("./commands/file.ts")).writeFileOf(shell, { run, file, flags: command.optsWithGlobals() })),
    );
  program
    .command("replay <run>")
    .description(HELP.replay)
    .option("--at <version>", "stop at that version", wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option("--against <agent>", "also show the first request that today's agent would make differently")
    .action(async (run: string, _, command: Command) =>
      ends((await import("./commands/replay.ts")).replayRun(shell, { run, flags: command.optsWithGlobals() })),
    );
  program
    .command("snapshot <run> <version>")
    .description(HELP.snapshot)
    .action(async (run: string, version: string, _, command: Command) =>
      ends(
        (await import("./commands/snapshot.ts")).showVersion(shell, { run, version, flags: command.optsWithGlobals() }),
      ),
    );
  program
    .command("pin <run>")
    .description(HELP.pin)
    .option("--out <folder>", "the folder of the test and of the recording that it reads", "pinned")
    .action(async (run: string, _, command: Command) =>
      ends((await import("./commands/pin.ts")).pinRun(shell, { run, flags: command.optsWithGlobals() })),
    );
}
