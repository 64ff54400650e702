/**
 * Before the tests: starts LocalStack and deploys what `lane.ts` uses. After the tests: stops LocalStack if it was
 * not running before.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { installPlatform } from "../../infra/platform.ts";
import { environmentOf } from "../../localstack/environment.ts";
import { down, up } from "../../localstack/up.ts";
import type { Stacks } from "./lane.ts";
import { AGENTS, BEAT_SECONDS, deployStacks } from "./stacks.ts";

let isOurs = false;

export async function setup(project: TestProject): Promise<void> {
  const say = (line: string): void => console.log(line);
  const [, { url, services, wasUp }] = await Promise.all([installPlatform(say), up(process.env, say)]);
  isOurs = !wasUp;
  const files = join(services, "lane");
  rmSync(services, { recursive: true, force: true });
  mkdirSync(files, { recursive: true });
  const place = { url, services, files };
  const made = await deployStacks(place, { agents: AGENTS, names: ["lane", "impatient"] });
  const stacks: Stacks = { ...made, ...place, beatSeconds: BEAT_SECONDS };
  Object.assign(process.env, environmentOf({ url, deployment: stacks.lane }));
  project.provide("stacks", stacks);
}

export async function teardown(): Promise<void> {
  if (isOurs) await down(process.env);
}
