/**
 * Chain on SQLite, as the engine and the commands use it. They only write what shall happen. The supervisor of the
 * store, once there is one, reads that and drives the executions.
 */
import type { Chain } from "../../ports/chain.ts";
import type { Clock } from "../../ports/world.ts";
import type { Store } from "./store/database.ts";
import { executionsOf } from "./store/executions.ts";

export function sqliteChain(store: Store, clock: Clock): Chain {
  const executions = executionsOf(store);
  return {
    start: async (name, payload) => {
      const found = executions.start({ name, payload, now: clock.now() });
      return found === null ? { kind: "started" } : { kind: "exists", running: found.stage !== "ended" };
    },
    wake: async (token) => ({ kind: executions.wake(token, clock.now()) ? "woken" : "awake" }),
  };
}
