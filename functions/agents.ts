/** The agents of a deployment, ready to run. Each is loaded when a run needs it. */
import { sentenceOf } from "../src/codec/value.ts";
import type { World } from "../src/ports/world.ts";
import type { LoadedAgent, Runner } from "../src/engine/context/runner.ts";
import type { WatchedIntrinsics } from "../src/sdk/watched-intrinsics.ts";
import { definedAgent } from "./defined-agent.ts";

export function agentOf(world: World, intrinsics: WatchedIntrinsics): Runner["agentOf"] {
  const loaded = new Map<string, LoadedAgent>();
  const load = async (name: string): Promise<LoadedAgent | null> => {
    const defined = await definedAgent(name);
    if (defined === null) return null;
    // The model clients are large, and a function that only claims and releases never needs them.
    const { ready } = await import("./ready-agent.ts");
    return ready(defined, world);
  };
  return async (name) => {
    try {
      const agent = loaded.get(name) ?? (await intrinsics.loading(() => load(name)));
      if (agent === null) return { kind: "absent", why: `this deployment has no agent named ${name}` };
      loaded.set(name, agent);
      return agent;
    } catch (error) {
      return { kind: "absent", why: sentenceOf(error), isBroken: true };
    }
  };
}
