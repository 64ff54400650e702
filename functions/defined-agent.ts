/**
 * The agents that a deployment knows: those of its cairn.config.ts, bundled with it, each imported when somebody asks for
 * it. As they are written: whoever only starts runs needs no model.
 */
import { agents } from "cairn-agents";
import type { Agent } from "../src/ports/agent.ts";
import { protectIntrinsics } from "../src/sdk/protect-intrinsics.ts";

// A test that imports a function replaces timers of its own.
if (process.env["AWS_LAMBDA_FUNCTION_NAME"] !== undefined) protectIntrinsics();

/** Null where the deployment has none of that name. */
export async function definedAgent(name: string): Promise<Agent | null> {
  // Every object has a `constructor`, and a name comes from outside.
  const load = Object.hasOwn(agents, name) ? agents[name] : undefined;
  return load === undefined ? null : load();
}
