/** The command that writes a new project: `init`. */
import { type Command, Option } from "commander";
import type { Into } from "./arguments.ts";

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
    .action(async (dir: string, _, command: Command) =>
      ends((await import("./commands/init.ts")).init(shell, { dir, flags: command.optsWithGlobals() })),
    );
}
