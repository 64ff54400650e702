/** The commands around a project: `init` writes a new one, `completion` completes commands in a shell. */
import { Argument, type Command, Option } from "commander";
import type { Into } from "./arguments.ts";
import type { ShellName } from "./commands/completion.ts";

const SHELLS: readonly ShellName[] = ["bash", "zsh", "fish"];

export function addProjects(program: Command, { shell, ends }: Into): void {
  program
    .command("init <dir>")
    .description("write a new project with an agent, its tests and its config into an empty folder")
    .addOption(
      new Option(
        "--template <name>",
        "what the agent shows: tools and an approval, or also a page to chat, a schedule, or an undo",
      )
        .choices(["basic", "chat", "scheduled", "orders"])
        .default("basic"),
    )
    .option("--aws", "name the clients of AWS in package.json, which a deployment to AWS needs")
    .action(async (dir: string, _, command: Command) =>
      ends((await import("./commands/init.ts")).init(shell, { dir, flags: command.optsWithGlobals() })),
    );
  program
    .command("completion")
    .description("print a script with which a shell completes commands: source <(cairn completion bash)")
    .addArgument(new Argument("<shell>", "whose script to print").choices(SHELLS))
    .action(async (name: ShellName) =>
      ends(import("./commands/completion.ts").then(({ printCompletion }) => printCompletion(shell, program, name))),
    );
}
