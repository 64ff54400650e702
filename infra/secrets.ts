/** The names of the secrets that each agent declares: functions are told which they are, and may read those. */
import { loadAgentFile } from "../src/sdk/load.ts";
import { secretNamesOf } from "../src/ports/secrets.ts";

export interface AgentSecrets {
  readonly agent: string;
  /** That it declares; sorted. */
  readonly secrets: readonly string[];
}

/** `agentFiles`: absolute paths, those of cairn.config.ts. */
export async function agentSecretsOf(agentFiles: readonly string[]): Promise<readonly AgentSecrets[]> {
  const agents = (await Promise.all(agentFiles.map(loadAgentFile))).flat();
  return agents.map((agent) => ({ agent: agent.name, secrets: [...new Set(secretNamesOf(agent))].toSorted() }));
}
