/** An agent with its model, checked against the limits of the functions that run it. */
import { prices } from "cairn-agents";
import { checkAgent } from "../src/agent/check.ts";
import type { Agent } from "../src/agent/define.ts";
import { modelsOf } from "../src/agent/model.ts";
import { pricedBy } from "../src/agent/prices.ts";
import type { World } from "../src/ports/world.ts";
import { readerIn } from "../src/runner/secrets.ts";
import type { LoadedAgent } from "../src/runner/step.ts";

export function ready(defined: Agent, world: World): LoadedAgent {
  const agent = pricedBy(defined, prices);
  checkAgent(agent, world.limits);
  return { kind: "agent", agent, ...modelsOf(agent, readerIn(world)) };
}
