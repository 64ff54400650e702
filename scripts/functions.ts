/**
 * `npm run functions`: bundles the functions as they are deployed, and prints the size and the import time of each. The
 * time is CPU time, the minimum of several processes, because a busy machine only adds to it.
 *
 * Exits 1 if a function is larger than a cold start allows, or imports much slower than the fastest one. A ratio is
 * comparable across machines.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleFunctions } from "../infra/bundle.ts";
import { environmentOf } from "../infra/environment.ts";
import { namesOf } from "../infra/names.ts";
import { planOf } from "../infra/plan.ts";
import { agentSecretsOf } from "../infra/secrets.ts";
import { isolatedOf, loadConfig } from "../src/sdk/config.ts";

const ROOT = join(import.meta.dirname, "..");
/** Each function is imported twice, and twice more while one seems to be too slow. */
const ROUNDS = { min: 2, max: 4 } as const;
const KILOBYTES_MAX = 1_215;
const RATIO_MAX = 3.5;

/** A fake place: importing a function contacts none of its resources. */
const PLACE = { partition: "aws", region: "us-east-1", account: "000000000000" };

/** The CPU time in which a fresh process imports the file, in milliseconds. */
function importMs(file: string, env: Readonly<Record<string, string>>): number {
  // Lambda's runtime has this global, and a function that streams names it during its import.
  const runtime = "globalThis.awslambda = { streamifyResponse: (handler) => handler };";
  const code = `${runtime} const before = process.cpuUsage(); await import(${JSON.stringify(pathToFileURL(file).href)}); const { user, system } = process.cpuUsage(before); console.log((user + system) / 1_000); process.exit();`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    env: { ...process.env, AWS_REGION: PLACE.region, AWS_LAMBDA_FUNCTION_NAME: "measured", ...env },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr.slice(-1_000));
  return Number(stdout);
}

const folder = mkdtempSync(join(tmpdir(), "cairn-functions-"));
try {
  const config = await loadConfig(ROOT);
  const { agents: agentFiles = [], prices = {}, deploy = {} } = config ?? {};
  const agents = await agentSecretsOf(agentFiles);
  // Each function of an isolated agent is the one of all agents with fewer of them, so one stands for the others.
  const isolated = isolatedOf(deploy, agents)
    .slice(0, 1)
    .map(({ agent }) => agent);
  const bundles = await bundleFunctions({ folder, agentFiles, prices, isolated, eventStreams: true });
  const [names, plan] = [namesOf("measured", PLACE), planOf(config ?? {}, bundles, { agents })];
  const measured = bundles.map(({ name, startBytes, files, folder: own }) => ({
    name,
    files,
    kilobytes: startBytes / 1_024,
    ms: Infinity,
    file: join(own, "index.mjs"),
    env: environmentOf(name, { names, plan }),
  }));
  const quickest = (): number => Math.min(...measured.map(({ ms }) => ms));
  const isSlow = ({ ms }: { readonly ms: number }): boolean => ms > RATIO_MAX * quickest();
  // In rounds, since a machine may be slower for some seconds: all functions meet that alike.
  for (let round = 0; round < ROUNDS.min || (round < ROUNDS.max && measured.some(isSlow)); round += 1) {
    for (const each of measured) each.ms = Math.min(each.ms, importMs(each.file, each.env));
  }
  for (const { name, files, kilobytes, ms } of measured) {
    const tooMuch = kilobytes > KILOBYTES_MAX || isSlow({ ms });
    if (tooMuch) process.exitCode = 1;
    const more = files.length > 1 ? `, ${files.length} files` : "";
    console.log(
      `${name.padEnd(8)} ${kilobytes.toFixed(0).padStart(4)} KB at start${more}, import ${ms.toFixed(0)} ms${tooMuch ? "  TOO MUCH" : ""}`,
    );
  }
} finally {
  rmSync(folder, { recursive: true });
}
