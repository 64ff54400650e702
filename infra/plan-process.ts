/**
 * `node plan-process.ts FOLDER PLATFORM`: checks the `cairn.config.ts` of the current folder and its agents, bundles the
 * functions into FOLDER, and prints the plan of a deployment as JSON. The plan is the last line, because agents may print
 * during their import. PLATFORM is that of SST.
 */
import { resolve } from "node:path";
import { bundleFunctions } from "./bundle.ts";
import { planOf } from "./plan.ts";
import { readProject } from "./project.ts";

// Node would print the line of the source where the error was thrown, and those of the package are very long.
process.on("uncaughtException", (error: unknown) => {
  process.stderr.write(`${(error instanceof Error ? error.stack : null) ?? String(error)}\n`, () => process.exit(1));
});
const [folder = ".sst/cairn/Cairn", platform = ".sst/platform"] = process.argv.slice(2);
const root = process.cwd();
const { config, bundling, schedules, agents } = await readProject(root);
const bundles = await bundleFunctions({ ...bundling, folder: resolve(folder), project: { root, platform } });
process.stdout.write(`${JSON.stringify(planOf(config, bundles, { schedules, agents }))}\n`, () => process.exit());
