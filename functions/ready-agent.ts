/** An agent with its model, checked against the limits of the functions that run it. */
import { modelRates, prices } from "cairn-agents";
import { checkAgent } from "../src/sdk/check.ts";
import type { Agent } from "../src/ports/agent.ts";
import { modelsOf } from "../src/providers/model.ts";
import { pricedBy } from "../src/sdk/prices.ts";
import type { World } from "../src/ports/world.ts";
import { readerIn } from "../src/history/secrets.ts";
import type { LoadedAgent } from "../src/engine/context/runner.ts";

/** Throws `AgentInvalid` if the agent does not fit the limits. */
export function ready(defined: Agent, world: World): LoadedAgent {
  const agent = pricedBy(defined, prices);
  checkAgent(agent, world.limits, { isFunction: true });
  return { kind: "agent", agent, ...modelsOf(agent, readerIn(world), modelRates) };
}
