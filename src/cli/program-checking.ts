/** The commands that look at an agent and at what it needs, before it matters. */
import type { Command } from "commander";
import { STRATEGIES } from "../chaos/strategy.ts";
import { BEAT, type Into, wholeNumber } from "./arguments.ts";
import { auditAgent } from "./audit.ts";
import { type ChaosFlags, chaos } from "./chaos.ts";
import { doctor } from "./doctor.ts";
import { fenceStore } from "./restored.ts";

export function addChecking(program: Command, { shell, ends }: Into): void {
  program.commandsGroup("Checking:");
  program
    .command("audit <agent>")
    .description("what a death in the middle of each tool leads to, and what its agent says nothing about")
    .option("--strict", "exit 1 where something is missing")
    .option("--markdown", "its tools as a table for a page")
    .option("--beat-seconds <seconds>", BEAT)
    .action((agent: string, _, command: Command) =>
      ends(auditAgent(shell, { agent, flags: command.optsWithGlobals() })),
    );
  program
    .command("doctor")
    .description("whether all that runs need is there and right, and how to mend what is not")
    .option("--production", "also what a deployment in earnest needs: what it lacks fails")
    .option("--beat-seconds <seconds>", BEAT)
    .action((_, command: Command) =>
      ends(doctor(shell, { flags: command.optsWithGlobals(), version: program.version() ?? "" })),
    );
  program
    .command("restored")
    .description("after a store was restored from a backup: fence and pause every run that has not ended")
    .action((_, command: Command) => ends(fenceStore(shell, command.optsWithGlobals())));
  addChaos(program, { shell, ends });
}

function addChaos(program: Command, { shell, ends }: Into): void {
  program
    .command("chaos <agent>")
    .description("kill an agent's processes in the middle of its tasks, beside two plain loops, and compare")
    .option("--tasks <n>", "how many tasks", wholeNumber(1, 1_000), 30)
    .option("--seed <text>", "the same seed kills at the same moments", "1")
    .option("--every-edge", "a task for each edge of the protocol, instead of random beats")
    .option("--input <json>", "a task: JSON, @file, or -; several take turns", collected)
    .option("--strategies <names>", "which columns", STRATEGIES.join(","))
    .option("--beat-seconds <seconds>", "how long one beat may take, 0.5 to 900 (10, or what the slowest tool needs)")
    .option("--keep", "leave the stores, also where all is well")
    .option("--markdown", "the table as Markdown")
    .action((agent: string, _, command: Command) =>
      ends(chaos(shell, { agent, flags: command.optsWithGlobals<ChaosFlags>() })),
    );
}

const collected = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];
