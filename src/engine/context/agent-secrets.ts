/** The secrets of an agent are read before the agent runs. */
import { secretNamesOf } from "../../ports/secrets.ts";
import { StoreUnreachable, type World } from "../../ports/world.ts";
import { sentenceOf } from "../../codec/value.ts";
import { knowSecrets } from "../../history/secrets.ts";
import type { AgentAbsent, LoadedAgent } from "./runner.ts";

/** An agent is as good as absent while its secrets cannot be read: nothing could be kept out of what is written. */
export async function withSecrets(
  world: Pick<World, "secrets" | "clock">,
  found: LoadedAgent | AgentAbsent,
): Promise<LoadedAgent | AgentAbsent> {
  if (found.kind === "absent") return found;
  try {
    await knowSecrets(world, secretNamesOf(found.agent));
    return found;
  } catch (error) {
    if (!(error instanceof StoreUnreachable)) throw error;
    return { kind: "absent", why: `its secrets cannot be read: ${sentenceOf(error)}` };
  }
}
