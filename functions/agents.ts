/** The agents of a deployment, ready to run. Each is loaded when a run needs it. */
import { sentenceOf } from "../src/codec/value.ts";
import type { World } from "../src/ports/world.ts";
import type { LoadedAgent, Runner } from "../src/engine/context/runner.ts";
import { definedAgent } from "./defined-agent.ts";

export function agentOf(world: World): Runner["agentOf"] {
  const loaded = new Map<string, LoadedAgent>();
  return async (name) => {
    try {
      const defined = loaded.get(name)?.agent ?? (await definedAgent(name));
      if (defined === null) return { kind: "absent", why: `this deployment has no agent named ${name}` };
      // The model clients are large, and a function that only claims and releases never needs them.
      const { ready } = await import("./ready-agent.ts");
      const agent = loaded.get(name) ?? ready(defined, world);
      loaded.set(name, agent);
      return agent;
    } catch (error) {
      return { kind: "absent", why: sentenceOf(error), isBroken: true };
    }
  };
}
