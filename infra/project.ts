/** What a deployment takes from the `cairn.config.ts` of a folder and from its agents. */
import type { bundleFunctions } from "./bundle.ts";
import { type DeployedSchedule, schedulesOf } from "./schedules.ts";
import { type AgentSecrets, agentSecretsOf } from "./secrets.ts";
import { DEFAULT_TENANT } from "../src/core/ids.ts";
import { type Config, isolatedOf, loadConfig } from "../src/sdk/config.ts";
import { registerResolution } from "../src/sdk/resolution.ts";

export interface DeployedProject {
  readonly config: Config;
  /** Which functions are bundled, and of what. */
  readonly bundling: Omit<Parameters<typeof bundleFunctions>[0], "folder" | "project">;
  readonly schedules: readonly DeployedSchedule[];
  readonly agents: readonly AgentSecrets[];
}

export async function readProject(root: string): Promise<DeployedProject> {
  registerResolution();
  const config = await loadConfig(root);
  if (config === null) {
    const why = `there is no cairn.config.ts in ${root}: write one, or name its folder in the option config of cairn()`;
    throw Object.assign(new Error(why), { code: "ConfigMissing", next: "npx cairn-run init my-agents" });
  }
  const { agents: agentFiles, prices = {}, modelRates = {}, access = {}, tenants = {}, deploy = {} } = config;
  const agents = await agentSecretsOf(agentFiles);
  const isolated = isolatedOf(deploy, agents).map(({ agent }) => agent);
  const { eventStreams = false, console = false } = deploy;
  return {
    config,
    bundling: {
      agentFiles,
      prices,
      modelRates,
      isolated,
      eventStreams,
      console,
      tenantLimits: access.limits ?? {},
      tenantPlaces: tenantPlacesOf(tenants),
    },
    schedules: await schedulesOf({ agentFiles, tenant: DEFAULT_TENANT }),
    agents,
  };
}

/** A deployment keeps the places of a tenant in one record, which each of its beats writes twice. */
const PLACES_MAX = 100;

/** The most beats of each tenant that has a cap. Throws for a cap that a deployment cannot hold. */
export function tenantPlacesOf(tenants: NonNullable<Config["tenants"]>): Readonly<Record<string, number>> {
  const capped = Object.entries(tenants).flatMap(([tenant, { concurrency }]) =>
    concurrency === undefined ? [] : [[tenant, concurrency] as const],
  );
  const wide = capped.find(([, most]) => most > PLACES_MAX);
  if (wide === undefined) return Object.fromEntries(capped);
  const [tenant, most] = wide;
  const why = `tenants.${tenant}.concurrency of cairn.config.ts is ${most}, and a deployment on AWS can hold ${PLACES_MAX} at most: its places are one record`;
  const next = `write ${PLACES_MAX} or less, or take it out and let deploy.concurrencyMax bound all beats`;
  throw Object.assign(new Error(`${why}; ${next}`), { code: "TenantCapTooWide", next });
}
