/**
 * `npm run localstack`: AWS on this machine. Installs LocalStack and the platform of SST if they are not there, starts
 * LocalStack if it does not answer, deploys this checkout as `sst deploy` would, and prints what a shell has to export.
 * People are told on stderr, so that `eval "$(npm run --silent localstack)"` works. `npm run localstack:stop` ends it.
 */
import { join } from "node:path";
import { installPlatform } from "../infra/platform.ts";
import { loadConfig } from "../src/sdk/config.ts";
import { deploy } from "./deploy.ts";
import { exportsOf } from "./environment.ts";
import { down, up } from "./up.ts";

const ROOT = join(import.meta.dirname, "..");
const STAGE = "local";

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(command: string): Promise<void> {
  if (command === "stop") return say(`LocalStack is down, ${await down(process.env)} processes ended`);
  const since = performance.now();
  const seconds = (): string => `${((performance.now() - since) / 1_000).toFixed(1)} s`;
  const [, { url, services, wasUp }] = await Promise.all([installPlatform(say), up(process.env, say)]);
  say(`LocalStack ${wasUp ? "was" : "is"} up at ${url} (${seconds()})`);
  const config = (await loadConfig(ROOT)) ?? { agents: [] };
  // Where the travel agent finds the services that it books with: Lambda's own disk does not outlive a process.
  const env = { TRAVEL_SERVICES: services };
  const deployment = await deploy({ url, stage: STAGE, config, env });
  say(`deployed (${seconds()})`);
  process.stdout.write(exportsOf({ url, deployment }));
}

await main(process.argv[2] ?? "start");
