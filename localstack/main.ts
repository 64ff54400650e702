/**
 * `npm run localstack`: AWS on this machine. It installs LocalStack and the platform of SST if they are missing, starts
 * LocalStack if it does not answer, and deploys this checkout as `sst deploy` would. It prints what a shell has to
 * export. Progress goes to stderr, so that `eval "$(npm run --silent localstack)"` works. `npm run localstack:stop`
 * ends it; `node localstack/main.ts install` only installs, as the first start does.
 */
import { join } from "node:path";
import { installPlatform } from "../infra/platform.ts";
import { loadConfig } from "../src/sdk/config.ts";
import { deploy } from "./deploy.ts";
import { exportsOf } from "./environment.ts";
import { down, prepare, up } from "./up.ts";

const ROOT = join(import.meta.dirname, "..");
const STAGE = "local";

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(command: string): Promise<void> {
  if (command === "stop") return say(`LocalStack is down, ${await down(process.env)} processes ended`);
  if (command === "install") return prepare(process.env, say);
  const since = performance.now();
  const seconds = (): string => `${((performance.now() - since) / 1_000).toFixed(1)} s`;
  const [, { url, services, wasUp }] = await Promise.all([installPlatform(say), up(process.env, say)]);
  say(`LocalStack ${wasUp ? "was" : "is"} up at ${url} (${seconds()})`);
  const config = (await loadConfig(ROOT)) ?? { agents: [] };
  // The folder in which the travel agent's services keep their files, since Lambda's own disk does not outlive a
  // process.
  const env = { TRAVEL_SERVICES: services };
  const deployment = await deploy({ url, stage: STAGE, config, env });
  say(`deployed (${seconds()})`);
  process.stdout.write(exportsOf({ url, deployment }));
}

await main(process.argv[2] ?? "start");
