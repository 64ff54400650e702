/** Made by `infra/bundle.ts` from cairn.config.ts: each agent by its name, in a file of its own that is imported on use. */
declare module "cairn-agents" {
  import type { Agent } from "../src/sdk/define.ts";
  import type { Prices } from "../src/sdk/prices.ts";

  export const agents: Readonly<Record<string, (() => Promise<Agent>) | undefined>>;

  /** Of models, as cairn.config.ts says. */
  export const prices: Prices;
}
