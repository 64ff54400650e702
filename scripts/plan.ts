/**
 * `node scripts/plan.ts FOLDER`: checks `cairn.config.ts` and its agents, bundles the functions into that folder, and prints
 * the plan of a deployment as JSON, as its last line: what agents print while they are imported is theirs.
 */
import { join, resolve } from "node:path";
import { bundleFunctions } from "../infra/bundle.ts";
import { planOf } from "../infra/plan.ts";
import { schedulesOf } from "../infra/schedules.ts";
import { secretsOf } from "../infra/secrets.ts";
import { loadConfig } from "../src/sdk/config.ts";
import { registerResolution } from "../src/sdk/resolution.ts";
import { DEFAULT_TENANT } from "../src/core/ids.ts";

registerResolution();
const [folder = ".sst/functions"] = process.argv.slice(2);
const config = await loadConfig(join(import.meta.dirname, ".."));
if (config === null) throw new Error("there is no cairn.config.ts here");
const { agents: agentFiles, prices = {} } = config;
const bundles = await bundleFunctions({ folder: resolve(folder), agentFiles, prices });
const schedules = await schedulesOf({ agentFiles, tenant: DEFAULT_TENANT });
process.stdout.write(
  `${JSON.stringify(planOf(config, bundles, { schedules, secrets: await secretsOf(agentFiles) }))}\n`,
  () => process.exit(),
);
