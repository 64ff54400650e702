/**
 * Loads agents: it imports a file and takes every agent that the file exports. Each error names the file, the problem,
 * and what to write instead, because its reader is usually the author of the file.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isName } from "../core/ids.ts";
import type { Agent } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
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

/** Recognizes an agent by its shape, because another copy of cairn may have defined it. */
function isAgent(value: unknown): value is Agent {
  if (typeof value !== "object" || value === null) return false;
  const { name, version, task, tools, done, topology, budget } = value as Readonly<Record<keyof Agent, unknown>>;
  return (
    typeof name === "string" &&
    isName(name) &&
    typeof version === "string" &&
    Array.isArray(done) &&
    [task, tools, topology, budget].every((each) => typeof each === "object" && each !== null) &&
    // Tells an agent from agent options, whose budget is in dollars.
    "microUsd" in (budget as object)
  );
}
