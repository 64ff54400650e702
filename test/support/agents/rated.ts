/** A process whose model has a rate limit. */
import type { Runner } from "../../../src/engine/context/runner.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { World } from "../../../src/ports/world.ts";
import type { ModelRate } from "../../../src/protocol/model-rate.ts";
import { runnerOf } from "../harness/drive.ts";

/** `asked` gets the time of each model call. */
export function ratedRunner(
  world: World,
  of: { readonly agent: Agent; readonly rate: ModelRate; readonly asked: number[] },
): Runner {
  const runner = runnerOf(world, of.agent);
  return {
    ...runner,
    agentOf: async (name) => {
      const found = await runner.agentOf(name);
      if (found.kind === "absent") return found;
      const { model } = found;
      return {
        ...found,
        model: {
          ...{ name: model.name, rate: of.rate },
          ask: (request) => {
            of.asked.push(world.clock.now());
            return model.ask(request);
          },
        },
      };
    },
  };
}
