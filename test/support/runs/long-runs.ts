/** Long runs for tests: driven for a given number of beats, with a record of every object read and written. */
import type { Agent } from "../../../src/ports/agent.ts";
import type { Payload } from "../../../src/protocol/chain.ts";
import type { World } from "../../../src/ports/world.ts";
import type { Runner } from "../../../src/engine/context/runner.ts";
import { attemptBeat } from "../harness/drive.ts";
import { type ScriptedAgentOptions, scriptedAgent, beatReply } from "../harness/harness.ts";

interface RecordedWorld<W extends World> {
  readonly world: W;
  /** The object keys, in order. */
  readonly gets: string[];
  readonly puts: { readonly key: string; readonly outcome: string }[];
}

export function recordObjectCalls<W extends World>(world: W): RecordedWorld<W> {
  const gets: string[] = [];
  const puts: { key: string; outcome: string }[] = [];
  const objects: World["objects"] = {
    ...world.objects,
    get: async (key) => {
      gets.push(key);
      return world.objects.get(key);
    },
    put: async (key, bytes) => {
      const outcome = await world.objects.put(key, bytes);
      puts.push({ key, outcome: outcome.kind });
      return outcome;
    },
  };
  return { world: { ...world, objects }, gets, puts };
}

/** An actor agent with a high limit of beats. */
export function longRunAgent(part: ScriptedAgentOptions): Agent {
  const agent = scriptedAgent(part);
  return { ...agent, budget: { ...agent.budget, beats: 2_000 } };
}

/** Runs that many beats, each of which must lead to the next; returns the payload of the beat after them. */
export async function runBeats(runner: Runner, from: Payload, count: number): Promise<Payload> {
  let payload = from;
  for (let done = 0; done < count; done += 1) {
    const { run, born, chain, epoch, agent, route } = await beatReply(attemptBeat(runner, payload));
    if (route !== "beat") throw new Error(`beat ${done + 1} of ${count} leads to ${route}`);
    payload = { run, born, chain, epoch, agent };
  }
  return payload;
}
