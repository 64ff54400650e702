/**
 * Finds the agent that a request to a server names, and remembers its file for the process that drives the run. Without
 * that, a run could be stored whose code no process finds.
 */
import type { Agent } from "../ports/agent.ts";
import { checkHere, requireGatewayKey } from "./check-here.ts";
import { pricedBy } from "../sdk/prices.ts";
import { readCatalogue } from "./catalogue.ts";
import { UserError } from "./user-error.ts";
import { keepFile, locateTyped } from "./locate.ts";
import type { Opened } from "./open.ts";
import type { Surroundings } from "./surroundings.ts";

/** The agent that a start names; null if there is none. Throws if its file cannot be loaded. */
export async function agentToStart(shell: Surroundings, opened: Opened, name: string): Promise<Agent | null> {
  const { settings } = opened;
  if (shell.agents !== undefined) {
    const given = shell.agents.find((each) => each.name === name) ?? null;
    if (given !== null) await requireGatewayKey(given, settings);
    return given;
  }
  try {
    const located = await locateTyped(shell, { name, settings });
    const agent = pricedBy(located.agent, settings.prices);
    checkHere(agent, settings);
    await requireGatewayKey(agent, settings);
    await keepFile(opened, located);
    return agent;
  } catch (error) {
    if (!(error instanceof UserError) || error.trouble.code !== "AgentUnknown") throw error;
    // The name may be that of an agent in a broken file.
    const { broken } = await readCatalogue(settings.agentFiles);
    if (broken.length > 0) throw new Error(broken.map(({ why }) => why).join("; "), { cause: error });
    return null;
  }
}
