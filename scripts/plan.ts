/**
 * `node scripts/plan.ts FOLDER`: checks `cairn.config.ts` and its agents, bundles the functions into that folder, and
 * prints the plan of a deployment as JSON. The plan is the last line, because agents may print during their import.
 */
import { join, resolve } from "node:path";
import { bundleFunctions } from "../infra/bundle.ts";
import { planOf } from "../infra/plan.ts";
import { schedulesOf } from "../infra/schedules.ts";
import { agentSecretsOf } from "../infra/secrets.ts";
import { isolatedOf, loadConfig } from "../src/sdk/config.ts";
import { registerResolution } from "../src/sdk/resolution.ts";
import { DEFAULT_TENANT } from "../src/core/ids.ts";

registerResolution();
const [folder = ".sst/functions"] = process.argv.slice(2);
const config = await loadConfig(join(import.meta.dirname, ".."));
if (config === null) throw new Error("there is no cairn.config.ts here");
const { agents: agentFiles, prices = {}, modelRates = {} } = config;
const agents = await agentSecretsOf(agentFiles);
const isolated = isolatedOf(config.deploy ?? {}, agents).map(({ agent }) => agent);
const bundles = await bundleFunctions({ folder: resolve(folder), agentFiles, prices, modelRates, isolated });
const schedules = await schedulesOf({ agentFiles, tenant: DEFAULT_TENANT });
process.stdout.write(`${JSON.stringify(planOf(config, bundles, { schedules, agents }))}\n`, () => process.exit());
