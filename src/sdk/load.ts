/**
 * Loads agents: it imports a file and takes every agent that the file exports. Each error names the file, the problem,
 * and what to write instead, because its reader is usually the author of the file.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Agent } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { isAgent } from "../ports/is-agent.ts";
import { importFile } from "./import-file.ts";

/** All agents that the file exports, under any name. Throws `AgentInvalid`. */
export async function loadAgentFile(path: string): Promise<readonly Agent[]> {
  const file = resolve(path);
  if (!existsSync(file)) throw new AgentInvalid(`there is no agent file ${file}: check the path in cairn.config.ts`);
  const imported = await importFile(file);
  if (imported.kind === "broken") {
    throw new AgentInvalid(`agent file ${file} cannot be loaded: ${imported.why}`, { cause: imported.cause });
  }
  const agents = new Set(Object.values(imported.exported).filter(isAgent));
  if (agents.size === 0) {
    throw new AgentInvalid(`${file} exports no agent: write export const NAME = defineAgent({ ... })`);
  }
  return [...agents];
}
