/**
 * `node plan-process.ts FOLDER PLATFORM`: checks the `cairn.config.ts` of the current folder and its agents, bundles the
 * functions into FOLDER, and prints the plan of a deployment as JSON. The plan is the last line, because agents may print
 * during their import. PLATFORM is that of SST.
 */
import { resolve } from "node:path";
import { bundleFunctions } from "./bundle.ts";
import { planOf } from "./plan.ts";
import { schedulesOf } from "./schedules.ts";
import { agentSecretsOf } from "./secrets.ts";
import { isolatedOf, loadConfig } from "../src/sdk/config.ts";
import { registerResolution } from "../src/sdk/resolution.ts";
import { DEFAULT_TENANT } from "../src/core/ids.ts";

// Node would print the line of the source where the error was thrown, and those of the package are very long.
process.on("uncaughtException", (error: unknown) => {
  process.stderr.write(`${(error instanceof Error ? error.stack : null) ?? String(error)}\n`, () => process.exit(1));
});
registerResolution();
const [folder = ".sst/cairn/Cairn", platform = ".sst/platform"] = process.argv.slice(2);
const root = process.cwd();
const config = await loadConfig(root);
if (config === null) {
  throw new Error(
    `there is no cairn.config.ts in ${root}: write one, or name its folder in the option config of cairn()`,
  );
}
const { agents: agentFiles, prices = {}, modelRates = {} } = config;
const agents = await agentSecretsOf(agentFiles);
const isolated = isolatedOf(config.deploy ?? {}, agents).map(({ agent }) => agent);
const { eventStreams = false, console = false } = config.deploy ?? {};
const bundles = await bundleFunctions({
  ...{ folder: resolve(folder), agentFiles, prices, modelRates, isolated, eventStreams, console },
  project: { root, platform },
});
const schedules = await schedulesOf({ agentFiles, tenant: DEFAULT_TENANT });
process.stdout.write(`${JSON.stringify(planOf(config, bundles, { schedules, agents }))}\n`, () => process.exit());
