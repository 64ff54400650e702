/**
 * Before the tests: SST's platform is there, the functions are bundled, and each stage is captured once, for all of them.
 * The one has only what it must have, the other one all that can be asked for, and two agents that are isolated.
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
const TELLER = join(import.meta.dirname, "..", "localstack", "fixtures", "teller.ts");

const RESERVED = {
  concurrencyReserved: { sweep: 2, park: 5, api: 10 },
  apiRate: 20,
  spendPerDayUsd: 5,
  statusShards: 4,
} as const;

const folder = mkdtempSync(join(tmpdir(), "cairn-deployment-"));

export async function setup(project: TestProject): Promise<void> {
  await installPlatform((line) => console.log(line));
  const isolated = ["travel", "teller"];
  const bundles = await bundleFunctions({ folder, agentFiles: [TRAVEL, TELLER], isolated, eventStreams: true });
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
  const webhooks = [{ url: "https://hooks.example.org/", events: ["run.failed"], secret: "HOOK_KEY" }] as const;
  const given = { beatSeconds: 120, deploy, concurrency: { teller: 3 }, access: { auth: "iam" }, webhooks } as const;
  const plans = {
    dev: planOf({}, bundles),
    production: planOf(given, bundles, {
      schedules,
      agents: [
        { agent: "travel", secrets: ["AIRLINE_TOKEN", "CARD_KEY"] },
        { agent: "teller", secrets: ["CARD_KEY"] },
      ],
    }),
  };
  const captured = (stage: keyof typeof plans) => capture({ plan: plans[stage], app: "cairn", stage, place: PLACE });
  // Each is a process of its own.
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
