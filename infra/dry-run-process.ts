/**
 * `node dry-run-process.ts`: checks the `cairn.config.ts` of the current folder and its agents, bundles the functions into
 * a folder that it removes again, and prints what a deployment would make as JSON, in the last line. It needs no account.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Bundle, bundleFunctions } from "./bundle.ts";
import { plannedDeployment } from "./dry-run.ts";
import { readProject } from "./project.ts";
import { planOf } from "./plan.ts";
import type { DeploymentLack, PlannedDeployment } from "../src/ports/planned-deployment.ts";

const root = process.cwd();
process.on("uncaughtException", (error: unknown) => answer({ failed: missingOf(error) }));

const has = (name: string): boolean => {
  try {
    createRequire(join(root, "package.json")).resolve(name);
    return true;
  } catch {
    return false;
  }
};

/** What an error says is missing. Its code and its command count, where it has them. */
function missingOf(error: unknown): DeploymentLack {
  const {
    code = "DeploymentInvalid",
    next = "npx cairn doctor",
    message = String(error),
  } = error as Partial<DeploymentLack & Error>;
  const [, own, what = message] = /^([A-Z]\w+): ([^]*)$/.exec(message) ?? [];
  const [, said = what, typed = next] = /^([^]+?); type: (.+)$/.exec(what) ?? [];
  return { code: own ?? code, what: said, next: typed };
}

const SST: DeploymentLack = {
  code: "PackageMissing",
  what: "SST deploys a project, and is not installed in it",
  next: "npm install --save-dev sst@4.17.1",
};
const BUNDLER: DeploymentLack = {
  code: "PackageMissing",
  what: "the functions are bundled with esbuild, which neither the project nor SST has",
  next: "npm install --save-dev esbuild",
};
const DESCRIPTION: DeploymentLack = {
  code: "DescriptionMissing",
  what: "there is no sst.config.ts, which says what is deployed",
  next: "write the sst.config.ts of docs/deploy.md",
};

async function main(): Promise<PlannedDeployment> {
  const { config, bundling, schedules, agents } = await readProject(root);
  const platform = join(root, ".sst", "platform");
  const missing: DeploymentLack[] = [];
  if (!existsSync(join(root, "sst.config.ts"))) missing.push(DESCRIPTION);
  if (!has("sst")) missing.push(SST);
  const folder = mkdtempSync(join(tmpdir(), "cairn-dry-run-"));
  const bundles: Bundle[] = [];
  try {
    if (has("esbuild") || existsSync(join(platform, "node_modules", "esbuild")))
      bundles.push(...(await bundleFunctions({ ...bundling, folder, project: { root, platform } })));
    else missing.push(BUNDLER);
  } catch (error) {
    missing.push(missingOf(error));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return plannedDeployment(planOf(config, bundles, { schedules, agents }), { bundles, missing });
}

/** The line that the command line reads. Agents may have printed lines before it. */
function answer(told: PlannedDeployment | { readonly failed: DeploymentLack }): void {
  process.stdout.write(`\n${JSON.stringify(told)}\n`, () => process.exit());
}

answer(await main());
