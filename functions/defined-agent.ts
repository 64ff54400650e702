/**
 * The agents of a deployment as their authors wrote them. They come from its cairn.config.ts, are bundled with it, and
 * are imported on use. Starting a run needs no model, so the models are not loaded here.
 */
import { agents } from "cairn-agents";
import type { AgentCatalogue } from "../src/operations/agents.ts";
import type { Agent } from "../src/ports/agent.ts";
import { protectIntrinsics } from "../src/sdk/protect-intrinsics.ts";

// Tests that import a function replace timers themselves.
if (process.env["AWS_LAMBDA_FUNCTION_NAME"] !== undefined) protectIntrinsics();

/** The agents of the deployment. An error of one fails the list, and the operator reads it in the log. */
export async function definedAgents(): Promise<AgentCatalogue> {
  const loads = Object.values(agents).flatMap((load) => (load === undefined ? [] : [load()]));
  return { agents: await Promise.all(loads), broken: [] };
}

/** The agent of that name; null if the deployment has none. */
export async function definedAgent(name: string): Promise<Agent | null> {
  // `name` comes from outside, and every object has a `constructor`.
  const load = Object.hasOwn(agents, name) ? agents[name] : undefined;
  return load === undefined ? null : load();
}
