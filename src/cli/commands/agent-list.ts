/** `cairn agents`: lists the agents of the config, or those of cairn itself if there is no config. */
import { registerResolution } from "../../sdk/resolution.ts";
import type { AgentList } from "../../operations/agents.ts";
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { World } from "../../ports/world.ts";
import { EXIT } from "../../compose/user-error.ts";
import { table } from "../../render/paint.ts";
import { settingsOf } from "../../compose/settings.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";
import { checkCaps } from "../../compose/check-caps.ts";
import { catalogueOf, readCatalogue } from "../../compose/catalogue.ts";
import { overHttp } from "../choose-transport.ts";

export async function listConfigured(shell: Shell, flags: StoreFlags): Promise<number> {
  const { agents, broken } =
    flags.api === undefined
      ? await configured(shell, flags)
      : await (await overHttp(shell, flags.api)).perform("agents", {});
  if (shell.json) printDocument(shell, { agents, broken });
  else {
    const columns = ["AGENT", "VERSION", "TOPOLOGY", "TOOLS"].map((title) => ({ title }));
    const rows = agents.map(({ name, version, topology, tools }) => [
      name,
      version,
      topology,
      tools.map(({ tool }) => tool).join(", "),
    ]);
    shell.terminal.out(table(columns, rows, shell.terminal.paintOut).join("\n"));
  }
  for (const why of shell.json ? [] : broken) shell.terminal.err(why);
  return EXIT.done;
}

/** The list needs no store. */
async function configured(shell: Shell, flags: StoreFlags): Promise<AgentList> {
  const settings = await settingsOf(shell, flags);
  registerResolution();
  await checkCaps(shell, settings, await readCatalogue([...settings.agentFiles, ...settings.exampleFiles]));
  const context = { agents: () => catalogueOf(settings), by: "", tenant: "", agentOf: async () => null };
  return performOperation(OPERATIONS.agents, { ...context, world: {} as World }, {});
}
