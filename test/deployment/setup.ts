/**
 * Prepares the tests: installs SST's platform, bundles the functions, and captures the resources of each stage once.
 * One stage has only required options, the other one has all options.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundleFunctions } from "../../infra/bundle.ts";
import { capture } from "../../infra/capture.ts";
import { planOf } from "../../infra/plan.ts";
import { installPlatform } from "../../infra/platform.ts";
import { PLACE, type Stages } from "./deployed.ts";

const TRAVEL = join(import.meta.dirname, "..", "..", "agents", "travel", "agent.ts");

const RESERVED = { concurrencyReserved: { sweep: 2, park: 5, api: 10 }, apiRate: 20, spendPerDayUsd: 5 };

const folder = mkdtempSync(join(tmpdir(), "cairn-deployment-"));

export async function setup(project: TestProject): Promise<void> {
  await installPlatform((line) => console.log(line));
  const bundles = await bundleFunctions({ folder, agentFiles: [TRAVEL] });
  const seal = { kmsKey: "arn:aws:kms:eu-west-1:111122223333:key/1234-abcd", required: true };
  const deploy = {
    alarmEmail: "ops@example.org",
    env: { TRAVEL_PACE: "0" },
    concurrencyMax: 20,
    sweepMinutes: 15,
    rollout: "by-hand" as const,
    ...RESERVED,
    seal,
  };
  const event = { agent: "travel", tenant: "local", scheduledTime: "<aws.scheduler.scheduled-time>" };
  const daily = { expression: "cron(0 8 ? * MON-FRI *)", timezone: "Europe/Berlin", maximumEventAgeSec: 86_400 };
  const schedules = [{ agent: "travel", ...daily, event }];
  const plans = {
    dev: planOf({}, bundles),
    production: planOf({ beatSeconds: 120, deploy }, bundles, {
      schedules,
      secrets: ["AIRLINE_TOKEN", "CARD_KEY"],
    }),
  };
  const captured = (stage: keyof typeof plans) => capture({ plan: plans[stage], app: "cairn", stage, place: PLACE });
  // Each capture runs in its own process.
  const captures = await Promise.all([captured("dev"), captured("production")]);
  const dev = { plan: plans.dev, capture: captures[0] };
  const production = { plan: plans.production, capture: captures[1] };
  project.provide("deployed", { stages: { dev, production }, bundles });
}

export const teardown = (): void => rmSync(folder, { recursive: true });

declare module "vitest" {
  export interface ProvidedContext {
    readonly deployed: {
      readonly stages: Stages;
      readonly bundles: Awaited<ReturnType<typeof bundleFunctions>>;
    };
  }
}
