/**
 * Whether a child can act outside at all, whatever it does next. Only the declarations of its agent can say that of a
 * child that lives: what it has released so far is out of date when it is read (schedule 213).
 */
import { EFFECTS } from "../../core/calls/effects.ts";
import type { Runner } from "../context/runner.ts";

/**
 * True if each tool of the agent has the effect class `none`, and so have those of the agents of its own child tools. A
 * source may list any tool, and an agent that cannot be loaded may have any.
 */
export async function actsNowhere(
  agentOf: Runner["agentOf"],
  name: string,
  seen: ReadonlySet<string> = new Set(),
): Promise<boolean> {
  if (seen.has(name)) return true;
  const found = await agentOf(name);
  if (found.kind === "absent") return false;
  const { tools, sources = [] } = found.agent;
  if (sources.length > 0) return false;
  const above = new Set([...seen, name]);
  for (const { effect, child } of Object.values(tools)) {
    if (child === undefined && EFFECTS[effect].actsOutside) return false;
    if (child !== undefined && !(await actsNowhere(agentOf, child.agent, above))) return false;
  }
  return true;
}
