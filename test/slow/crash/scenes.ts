/** The scene of a plan: its agent, and the services that the agent calls. */
import type { Plan } from "./plan.ts";
import { sagaServices } from "./saga-scenario.ts";
import { type Services, services } from "./scenario.ts";
import { summaryServices } from "./summary-scenario.ts";
import { recoveryServices } from "./topology-scenario.ts";
import { waitServices } from "./wait-scenario.ts";

export function servicesOf(given: Plan & { readonly now: () => number }): Services {
  if (given.recovers !== undefined) return recoveryServices({ ...given, scene: given.recovers });
  if (given.summariser !== undefined) return summaryServices({ ...given, scene: given.summariser });
  if (given.waits === true) return waitServices(given);
  return given.saga === undefined ? services(given) : sagaServices(given);
}
