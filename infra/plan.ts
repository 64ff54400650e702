/**
 * What is to be deployed, as far as it does not come from code: the options of `cairn.config.ts` with their defaults, the
 * bundles that were made of the functions, and the schedules of the agents. Plain values: they are made by another process
 * (`scripts/plan.ts`), since whoever describes resources cannot load agents.
 */
import { createHash } from "node:crypto";
import { type Config, type DeployOptions, isolatedOf, limitsIn } from "../src/sdk/config.ts";
import { RETRY_GROUP } from "../src/protocol/entry.ts";
import { type Limits, limitsFor } from "../src/protocol/limits.ts";
import type { MachineTimes } from "../src/adapters/aws/asl.ts";
import type { Bundle } from "./bundle.ts";
import { type AgentFunction, type DeployedFunction, FUNCTIONS, agentFunction, kindOf } from "./names.ts";
import type { DeployedSchedule } from "./schedules.ts";
import type { AgentSecrets } from "./secrets.ts";

export interface Plan {
  /** Where each function's files lie, by its name; absolute. */
  readonly folders: Readonly<Record<string, string>>;
  /** Of the code in them: another one after each change of it. */
  readonly deployment: string;
  readonly schedules: readonly DeployedSchedule[];
  /** Names of all secrets that the agents may come to know. */
  readonly secrets: readonly string[];
  /** The agents whose beats run in a function of their own, and the secrets that each of them declares. */
  readonly isolated: readonly AgentSecrets[];
  readonly beatSeconds: number;
  /** Changes of single limits. */
  readonly limits: Partial<Limits>;
  readonly options: Options;
}

/** Those of `cairn.config.ts`, with defaults for what it does not say; null is *not at all*. */
export interface Options extends Required<Omit<DeployOptions, "beatsPerInvocation" | keyof Optional>>, Optional {}

interface Optional {
  readonly concurrencyMax: number | null;
  readonly alarmEmail: string | null;
  readonly tableName: string | null;
  readonly seal: NonNullable<DeployOptions["seal"]> | null;
}

/** How long Lambda lets each function live; a beat is as long as its agents need. */
const SECONDS = { park: 30, start: 60, sweep: 120, cleanup: 60, api: 29 } as const;

export const secondsOf = (fn: DeployedFunction, { beatSeconds }: Pick<Plan, "beatSeconds">): number => {
  const kind = kindOf(fn);
  return kind === "beat" ? beatSeconds : SECONDS[kind];
};

/** Every function of a deployment: those that each one has, and those of its isolated agents. */
export const functionsOf = ({ isolated }: Pick<Plan, "isolated">): readonly DeployedFunction[] => [
  ...FUNCTIONS,
  ...agentFunctionsOf({ isolated }),
];

export const agentFunctionsOf = ({ isolated }: Pick<Plan, "isolated">): readonly AgentFunction[] =>
  isolated.map(({ agent }) => agentFunction(agent));

/** The secrets that a function may come to know: that of one agent only those of its agent. */
export const secretsOf = (
  fn: DeployedFunction,
  { secrets, isolated }: Pick<Plan, "secrets" | "isolated">,
): readonly string[] => isolated.find(({ agent }) => agentFunction(agent) === fn)?.secrets ?? secrets;

/** What the definition of the machine says about time, from the limits of its world. */
export function machineTimesOf({ beatSeconds, limits }: Pick<Plan, "beatSeconds" | "limits">): MachineTimes {
  const { rescueMs, entryAttemptsMax, backoffMsMax } = limitsFor(beatSeconds * 1_000, limits);
  return {
    beatSeconds: secondsOf("beat", { beatSeconds }),
    sweepSeconds: SECONDS.sweep,
    rescueSeconds: Math.ceil(rescueMs / 1_000),
    triesMax: entryAttemptsMax * RETRY_GROUP,
    // A pause is drawn up to twice as long.
    backoffSeconds: Math.max(1, Math.floor(backoffMsMax / 2_000)),
  };
}

const BEAT_SECONDS = 60;

export function planOf(
  { beatSeconds = BEAT_SECONDS, deploy = {}, ...config }: Pick<Config, "beatSeconds" | "deploy" | "keyDays">,
  bundles: readonly Pick<Bundle, "name" | "folder" | "digest">[],
  of: { readonly schedules?: readonly DeployedSchedule[]; readonly agents?: readonly AgentSecrets[] } = {},
): Plan {
  if (!Number.isInteger(beatSeconds)) throw new Error(`beatSeconds is ${beatSeconds}: Lambda takes whole seconds`);
  const { memoryMb = 512, logRetention = "1 month", sweepMinutes = 5, env = {}, rollout = "at-once" } = deploy;
  const { isolation = "agent" } = deploy;
  const { schedules = [], agents = [] } = of;
  const secrets = [...new Set(agents.flatMap((each) => each.secrets))].toSorted();
  const { beatsPerInvocation, concurrencyReserved = {}, apiRate = 50, spendPerDayUsd = 100 } = deploy;
  return {
    folders: Object.fromEntries(bundles.map(({ name, folder }) => [name, folder])),
    deployment: deploymentOf(bundles),
    ...{ schedules, secrets, isolated: isolatedOf(deploy, agents), beatSeconds },
    limits: { ...(beatsPerInvocation === undefined ? {} : { beatsPerInvocation }), ...limitsIn(config) },
    options: {
      ...{
        memoryMb,
        logRetention,
        sweepMinutes,
        env,
        rollout,
        isolation,
        concurrencyReserved,
        apiRate,
        spendPerDayUsd,
      },
      concurrencyMax: deploy.concurrencyMax ?? null,
      alarmEmail: deploy.alarmEmail ?? null,
      seal: deploy.seal ?? null,
      tableName: deploy.tableName ?? null,
    },
  };
}

/** A digest of all bundles. */
function deploymentOf(bundles: readonly Pick<Bundle, "name" | "digest">[]): string {
  const digests = bundles.map(({ name, digest }) => `${name} ${digest}`).toSorted();
  return createHash("sha256").update(digests.join("\n")).digest("hex").slice(0, 16);
}
