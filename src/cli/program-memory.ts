/** The commands for the memories of agents: list, search, show and forget. */
import type { Command } from "commander";
import { DEFAULT_TENANT } from "../core/ids.ts";
import { HELP } from "../operations/help.ts";
import type { ListFlags } from "./commands/memory.ts";
import { type Into, WHY, reason, wholeNumber } from "./arguments.ts";

const LISTED_MAX = 500;

const AFTER = `
An agent's memory has the agent's name, unless its definition names another one (memory.scope).
Where all agents of cairn.config.ts share one memory, neither --agent nor --scope is needed.`;

export function addMemory(program: Command, { shell, ends }: Into): void {
  program.commandsGroup("Memory:");
  const memory = program.command("memory").description("list, search, show and forget what agents keep between runs");
  named(memory.command("list [agent]").description(HELP.memoryList))
    .option("--limit <n>", "at most this many", wholeNumber(1, LISTED_MAX), 50)
    .action(async (agent: string | undefined, _, command: Command) => {
      const flags = command.optsWithGlobals<ListFlags>();
      return ends((await import("./commands/memory.ts")).listEntries(shell, { agent, query: null, flags }));
    });
  named(memory.command("search <words...>").description(HELP.memorySearch))
    .option("--limit <n>", "at most this many", wholeNumber(1, LISTED_MAX), 10)
    .action(async (words: readonly string[], _, command: Command) => {
      const flags = command.optsWithGlobals<ListFlags>();
      const query = words.join(" ");
      return ends((await import("./commands/memory.ts")).listEntries(shell, { agent: undefined, query, flags }));
    });
  named(memory.command("show <id>").description(HELP.memoryShow)).action(async (id: string, _, command: Command) =>
    ends((await import("./commands/memory.ts")).showOne(shell, { id, flags: command.optsWithGlobals() })),
  );
  named(memory.command("forget [id]").description(HELP.memoryForget))
    .option("--all", HELP.memoryForgetAll)
    .option("--yes", "skip the question; required if there is no terminal to ask at")
    .option("--why <text>", WHY, reason)
    .action(async (id: string | undefined, _, command: Command) => {
      const flags = command.optsWithGlobals();
      const isAll = flags["all"] === true;
      if (isAll === (id !== undefined)) return command.error("error: name one entry, or --all");
      const { forgetAll, forgetOne } = await import("./commands/memory-forget.ts");
      return ends(id === undefined ? forgetAll(shell, flags) : forgetOne(shell, { id, flags }));
    });
}

/** Which memory is meant. */
const named = (command: Command): Command =>
  command
    .option("--agent <name>", "the memory of this agent: a name from cairn.config.ts, or its file")
    .option("--scope <name>", "the memory of this name")
    .option("--tenant <name>", "the tenant of the memory", DEFAULT_TENANT)
    .addHelpText("after", AFTER);
