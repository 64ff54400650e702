/** Reads the secrets of an agent before the agent runs. */
import { secretNamesOf } from "../../ports/secrets.ts";
import { StoreUnreachable, type World } from "../../ports/world.ts";
import { sentenceOf } from "../../codec/value.ts";
import { learnSecrets } from "../../history/secrets.ts";
import type { AgentAbsent, LoadedAgent } from "./runner.ts";

/**
 * Returns the agent after its secrets are known. If they cannot be read, the agent counts as absent: without them cairn
 * could not redact what it writes.
 */
export async function withSecrets(
  world: Pick<World, "secrets" | "clock">,
  found: LoadedAgent | AgentAbsent,
): Promise<LoadedAgent | AgentAbsent> {
  if (found.kind === "absent") return found;
  try {
    await learnSecrets(world, secretNamesOf(found.agent));
    return found;
  } catch (error) {
    if (!(error instanceof StoreUnreachable)) throw error;
    return { kind: "absent", why: `its secrets cannot be read: ${sentenceOf(error)}` };
  }
}
