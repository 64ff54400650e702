/** The commands that check an agent and its environment before it runs in earnest. */
import { type Command, InvalidArgumentError } from "commander";
import { STRATEGIES } from "../chaos/strategy.ts";
import { BEAT, type Into, wholeNumber } from "./arguments.ts";
import type { ChaosFlags } from "./commands/chaos.ts";
import type { RolloutFlags } from "./commands/rollout.ts";

export function addChecking(program: Command, { shell, ends }: Into): void {
  program
    .command("audit <agent>")
    .description(
      "show how each tool recovers when its process dies during a call, and which safeguards its agent lacks",
    )
    .option("--strict", "exit with 1 if a safeguard is missing")
    .option("--markdown", "print its tools as a Markdown table")
    .option("--beat-seconds <seconds>", BEAT)
    .action(async (agent: string, _, command: Command) =>
      ends((await import("./commands/audit.ts")).auditAgent(shell, { agent, flags: command.optsWithGlobals() })),
    );
  program
    .command("doctor")
    .description("check everything that runs need, and say how to fix what is wrong")
    .option("--production", "also check what a production deployment needs, and fail if it lacks something")
    .option("--whole-store", "also read all of a store in a file that is large: each page, and the row of each run")
    .option("--run <run>", "also check each stored field of this run: its bound, and that its events give it again")
    .option("--beat-seconds <seconds>", BEAT)
    .action(async (_, command: Command) =>
      ends(
        (await import("./commands/doctor.ts")).doctor(shell, {
          flags: command.optsWithGlobals(),
          version: program.version() ?? "",
        }),
      ),
    );
  program
    .command("rollout [version]")
    .description("on AWS: show the version of the beat function that new runs begin with, or move it to the newest")
    .option("--agent <name>", "the agent whose function to move, if each agent has a function of its own")
    .option("--to <percent>", "give that version this percentage of the new runs now", wholeNumber(0, 100))
    .option(
      "--steps <percents>",
      "raise the percentage in steps, such as 10,50,100; roll back when an alarm goes off",
      percents,
    )
    .option("--every-minutes <minutes>", "how long to watch the alarms after each step", wholeNumber(1, 1_440), 10)
    .option("--back", "give all new runs to the version that has most of them now")
    .action(async (target: string | undefined, _, command: Command) =>
      ends(
        (await import("./commands/rollout.ts")).rollout(shell, {
          version: target ?? null,
          flags: command.optsWithGlobals<RolloutFlags>(),
        }),
      ),
    );
  program
    .command("infra")
    .description("on AWS: list what a deployment of this project would make, without an account")
    .option("--dry-run", "bundle the functions, and say how large they are and what is missing")
    .action(async (_, command: Command) =>
      ends((await import("./commands/infra.ts")).infra(shell, command.optsWithGlobals())),
    );
  addChaos(program, { shell, ends });
}

/** Parses rising percentages of new runs, such as `10,50,100`. */
function percents(text: string): readonly number[] {
  const steps = text.split(",").map(Number);
  const areRising = steps.every((step, index) => index === 0 || step > (steps[index - 1] ?? 0));
  const areShares = steps.every((step) => Number.isInteger(step) && step >= 1 && step <= 100);
  if (areRising && areShares) return steps;
  throw new InvalidArgumentError("The steps are rising whole numbers from 1 to 100, such as 10,50,100.");
}

function addChaos(program: Command, { shell, ends }: Into): void {
  program
    .command("chaos <agent>")
    .description("kill an agent's processes during its tasks, and compare cairn with two plain loops")
    .option("--tasks <n>", "how many tasks", wholeNumber(1, 1_000), 30)
    .option("--seed <text>", "the same seed kills at the same moments", "1")
    .option("--every-edge", "run one task for each fault point of the protocol, instead of killing at random beats")
    .option("--input <json>", "a task: JSON, @file, or - for stdin; several are used in turn", collected)
    .option("--strategies <names>", "which strategies to compare", STRATEGIES.join(","))
    .option(
      "--beat-seconds <seconds>",
      "how long one beat may take, 0.5 to 900 (default: 10, or what the slowest tool needs)",
    )
    .option("--gates <decision>", "approve or deny every call that asks for approval, instead of decide of its file")
    .option(
      "--with-real-effects [tools]",
      "let tools without a stand-in act for real, instead of replacing them by fakes: type the names of all of them",
    )
    .option("--keep", "keep the stores, even if every task survived")
    .option("--markdown", "print the table as Markdown")
    .action(async (agent: string, _, command: Command) =>
      ends((await import("./commands/chaos.ts")).chaos(shell, { agent, flags: command.optsWithGlobals<ChaosFlags>() })),
    );
}

const collected = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];
