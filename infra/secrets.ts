/** The secrets of a deployment, by name: functions are told which they are, and may read those. */
import { loadAgentFile } from "../src/sdk/load.ts";
import { secretNamesOf } from "../src/ports/secrets.ts";

/** `agentFiles`: absolute paths, those of cairn.config.ts. */
export async function secretsOf(agentFiles: readonly string[]): Promise<readonly string[]> {
  const names = new Set<string>();
  for (const file of agentFiles) {
    for (const agent of await loadAgentFile(file)) for (const name of secretNamesOf(agent)) names.add(name);
  }
  return [...names].toSorted();
}
