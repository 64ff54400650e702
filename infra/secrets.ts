/**
 * Reads the names of the secrets that each agent declares. Functions get these names, and may read these secrets only.
 */
import { loadAgentFile } from "../src/sdk/load.ts";
import { secretNamesOf } from "../src/ports/secrets.ts";

export interface AgentSecrets {
  readonly agent: string;
  /** The names of the declared secrets, sorted. */
  readonly secrets: readonly string[];
}

/** `agentFiles`: the agent files of cairn.config.ts, as absolute paths. */
export async function agentSecretsOf(agentFiles: readonly string[]): Promise<readonly AgentSecrets[]> {
  const agents = (await Promise.all(agentFiles.map(loadAgentFile))).flat();
  return agents.map((agent) => ({ agent: agent.name, secrets: secretNamesOf(agent).toSorted() }));
}
