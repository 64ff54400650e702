/**
 * Finding agents: a file is imported and every agent that it exports counts. Each error says which file, what is wrong
 * and what to write instead, for the person who reads it wrote that file.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isName } from "../core/ids.ts";
import type { Agent } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { importFile } from "./import-file.ts";

/** Every agent that the file exports, under whichever name. Throws `AgentInvalid`. */
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

/** What `defineAgent` returns, also that of another copy of cairn: an agent is known by its shape. */
function isAgent(value: unknown): value is Agent {
  if (typeof value !== "object" || value === null) return false;
  const { name, version, task, tools, done, topology, budget } = value as Readonly<Record<keyof Agent, unknown>>;
  return (
    typeof name === "string" &&
    isName(name) &&
    typeof version === "string" &&
    Array.isArray(done) &&
    [task, tools, topology, budget].every((each) => typeof each === "object" && each !== null) &&
    // The options of an agent have a budget too, but in dollars.
    "microUsd" in (budget as object)
  );
}
