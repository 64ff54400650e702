/** The commands that check an agent and its environment before it runs in earnest. */
import { type Command, InvalidArgumentError } from "commander";
import { OPERATIONS } from "../operations/table.ts";
import { STRATEGIES } from "../chaos/strategy.ts";
import { BEAT, type Into, wholeNumber } from "./arguments.ts";
import { auditAgent } from "./commands/audit.ts";
import { type ChaosFlags, chaos } from "./commands/chaos.ts";
import { doctor } from "./commands/doctor.ts";
import { fenceStore } from "./commands/restored.ts";
import { type RolloutFlags, rollout } from "./commands/rollout.ts";

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
    .command("rollout [version]")
    .description("on AWS: which version of the beat function new runs begin with; shows it, or moves it to the newest")
    .option("--agent <name>", "the one whose function is meant, where each agent has a function of its own")
    .option("--to <percent>", "give that version so many percent of the new runs now", wholeNumber(0, 100))
    .option("--steps <percents>", "step by step, such as 10,50,100; taken back when an alarm goes off", percents)
    .option("--every-minutes <minutes>", "how long each step is watched", wholeNumber(1, 1_440), 10)
    .option("--back", "give all new runs to the version that has most of them")
    .action((target: string | undefined, _, command: Command) =>
      ends(rollout(shell, { version: target ?? null, flags: command.optsWithGlobals<RolloutFlags>() })),
    );
  program
    .command("restored")
    .description(OPERATIONS.restored.help)
    .action((_, command: Command) => ends(fenceStore(shell, command.optsWithGlobals())));
  addChaos(program, { shell, ends });
}

/** Parses rising percentages of new runs, such as `10,50,100`. */
function percents(text: string): readonly number[] {
  const steps = text.split(",").map(Number);
  const areRising = steps.every((step, index) => index === 0 || step > (steps[index - 1] ?? 0));
  const areShares = steps.every((step) => Number.isInteger(step) && step >= 1 && step <= 100);
  if (areRising && areShares) return steps;
  throw new InvalidArgumentError("They are rising whole numbers from 1 to 100, such as 10,50,100.");
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
