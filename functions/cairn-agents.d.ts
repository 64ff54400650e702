/**
 * A module that `infra/bundle.ts` makes from cairn.config.ts: each agent by its name, in its own file, imported on use.
 */
declare module "cairn-agents" {
  import type { Agent } from "../src/sdk/define.ts";
  import type { ModelRates } from "../src/protocol/model-rate.ts";
  import type { PlacesByTenant } from "../src/engine/loop/beat-in-place.ts";
  import type { Prices } from "../src/sdk/prices.ts";
  import type { TenantLimitsByName } from "../src/sdk/access.ts";

  export const agents: Readonly<Record<string, (() => Promise<Agent>) | undefined>>;

  /** The prices of models from cairn.config.ts. */
  export const prices: Prices;

  /** The rate limits of models from cairn.config.ts. */
  export const modelRates: ModelRates;

  /** `access.limits` of cairn.config.ts. */
  export const tenantLimits: TenantLimitsByName;

  /** The most beats at once of each tenant that has a cap in `tenants` of cairn.config.ts. */
  export const tenantPlaces: PlacesByTenant;
}
