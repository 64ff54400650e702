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

/** All agents that the file exports, under any name, also in a list or an object. Throws `AgentInvalid`. */
export async function loadAgentFile(path: string): Promise<readonly Agent[]> {
  const file = resolve(path);
  if (!existsSync(file)) throw new AgentInvalid(`there is no agent file ${file}: check the path in cairn.config.ts`);
  const imported = await importFile(file);
  if (imported.kind === "broken") {
    throw new AgentInvalid(`agent file ${file} cannot be loaded: ${imported.why}`, { cause: imported.cause });
  }
  const exported = Object.values(imported.exported).flatMap((each) => (isAgent(each) ? each : itemsOf(each)));
  const agents = new Set(exported.filter(isAgent));
  if (agents.size > 0) return [...agents];
  const meant = exported.some(isOfAiSdk)
    ? "it exports one of the AI SDK, so write export const NAME = fromToolLoopAgent(agent, { name, version, task, effects })"
    : "write export const NAME = defineAgent({ ... })";
  throw new AgentInvalid(`${file} exports no agent: ${meant}`);
}

/** What a list or a plain object holds, beside the value itself. */
function itemsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  const isPlain = typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? [value, ...Object.values(value)] : [value];
}

/** A `ToolLoopAgent` of `ai`, or what follows its interface. */
const isOfAiSdk = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "version" in value && /^agent-v\d/.test(String(value.version));
