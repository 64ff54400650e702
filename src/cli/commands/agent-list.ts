/** `cairn agents`: lists the agents of the config, or those of cairn itself if there is no config. */
import { registerResolution } from "../../sdk/resolution.ts";
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { World } from "../../ports/world.ts";
import { EXIT } from "../errors.ts";
import { table } from "../terminal/paint.ts";
import { type Settings, settingsOf } from "../settings.ts";
import { type Shell, type StoreFlags, printDocument } from "../shell.ts";
import { readWholeCatalogue } from "./agents.ts";

export async function listConfigured(shell: Shell, flags: StoreFlags): Promise<number> {
  const settings = await settingsOf(shell, flags);
  registerResolution();
  const context = { agents: () => catalogueOf(settings), by: "", tenant: "", agentOf: async () => null };
  // The list needs no store.
  const { agents, broken } = await performOperation(OPERATIONS.agents, { ...context, world: {} as World }, {});
  if (shell.json) printDocument(shell, { agents, broken });
  else {
    const columns = ["AGENT", "VERSION", "TOPOLOGY", "TOOLS"].map((title) => ({ title }));
    const rows = agents.map(({ name, version, topology, tools }) => [
      ...[name, version, topology],
      tools.map(({ tool }) => tool).join(", "),
    ]);
    shell.terminal.out(table(columns, rows, shell.terminal.paintOut).join("\n"));
  }
  for (const why of shell.json ? [] : broken) shell.terminal.err(why);
  return EXIT.done;
}

/** The agents that a command or the server can start by name, apart from files that only the store remembers. */
export async function catalogueOf({ agentFiles, exampleFiles }: Pick<Settings, "agentFiles" | "exampleFiles">) {
  const { agents, broken } = await readWholeCatalogue([...agentFiles, ...exampleFiles]);
  return { agents: agents.map(({ agent }) => agent), broken: broken.map(({ why }) => why) };
}
