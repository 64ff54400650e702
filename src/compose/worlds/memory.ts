/**
 * The in-memory world for the command line: for tests of commands, and as the smallest example of a provider. Its runs
 * live as long as the provider, and no process drives them.
 */
import { NO_SEAL_KEYS } from "../../ports/seal-keys.ts";
import type { Clock } from "../../ports/world.ts";
import type { ConfiguredWorld, OpenedWorld, WorldProvider } from "../../ports/world-provider.ts";
import type { Limits } from "../../protocol/limits.ts";
import { memorySecrets } from "../../adapters/memory/secrets.ts";
import { memoryStore } from "../../adapters/memory/tables.ts";
import { withKernel } from "../../features/compose.ts";
import { memoryWorld } from "../../adapters/memory/world.ts";

/** A provider of one in-memory world, which takes the time from `clock`. */
export function memoryProvider(clock: Clock): WorldProvider {
  const store = memoryStore();
  const secrets = memorySecrets({});
  const opened = (limits: Limits): OpenedWorld => ({
    world: withKernel(memoryWorld({ store, secrets, clock, limits })),
    operator: null,
    pollMs: 1,
    attendant: () => null,
    supervision: null,
    agentFiles: null,
    finishRemoval: () => {},
    close: () => {},
  });
  const world: ConfiguredWorld = {
    place: "memory",
    words: ["--world", "memory"],
    isThere: () => true,
    open: async ({ limits }) => opened(limits),
    findSecret: (name) => secrets.get(name),
    diagnose: async () => ({ checks: [], hints: ["not kept: the runs of this world end with its process"] }),
    agents: { kind: "files" },
    rollout: null,
    backups: null,
  };
  return {
    name: "memory",
    settings: [],
    driver: "the process that holds it",
    can: { rollout: false, agentFiles: true, kill: false },
    configure: () => ({ kind: "configured", world }),
    sealKeys: async () => NO_SEAL_KEYS,
  };
}
