/**
 * The plan of a deployment: the options of `cairn.config.ts` with their defaults, the bundles of the functions, and the
 * schedules of the agents.
 *
 * The plan is plain data that another process makes (`infra/plan-process.ts`), because the description of resources cannot
 * load agents.
 */
import { createHash } from "node:crypto";
import { type Config, type DeployOptions, type LimitOptions, isolatedOf, limitsIn } from "../src/sdk/config.ts";
import type { AccessOptions } from "../src/sdk/access.ts";
import { RETRY_GROUP } from "../src/protocol/entry.ts";
import { type Limits, limitsFor } from "../src/protocol/limits.ts";
import type { MachineTimes } from "../src/adapters/aws/machine/asl.ts";
import type { Bundle } from "./bundle.ts";
import { type AgentFunction, type DeployedFunction, EVENTS, FUNCTIONS, agentFunction, kindOf } from "./names.ts";
import type { CairnOptions } from "./options.ts";
import type { DeployedSchedule } from "./schedules.ts";
import type { AgentSecrets } from "./secrets.ts";
import type { Webhook } from "../src/ports/webhooks.ts";
import { isOfThisMachine } from "../src/sdk/webhooks.ts";

/** The plan, as plain data. */
export interface Plan {
  /** The folder of each function's bundle, by its name; absolute. */
  readonly folders: Readonly<Record<string, string>>;
  /** A digest of the deployed code. It changes with each change of the code. */
  readonly deployment: string;
  readonly schedules: readonly DeployedSchedule[];
  /** The names of all agents. */
  readonly agents: readonly string[];
  /** The names of all secrets that any agent may read. */
  readonly secrets: readonly string[];
  /** The isolated agents, whose beats run in a function of their own, with the secrets that each declares. */
  readonly isolated: readonly AgentSecrets[];
  /** The most beats of an agent at once, by the name of the function that runs them. */
  readonly concurrency: Readonly<Record<string, number>>;
  /** How the HTTP API identifies its callers; empty: by IAM. */
  readonly access: AccessOptions;
  /** The endpoints that hear of the runs. */
  readonly webhooks: readonly Webhook[];
  readonly beatSeconds: number;
  /** Overrides of single limits. */
  readonly limits: Partial<Limits>;
  readonly options: Options;
}

/** One component of an app: its plan, and the options of its description. */
export interface Component {
  readonly name: string;
  readonly plan: Plan;
  readonly options?: CairnOptions;
}

/** The deployment options of `cairn.config.ts`, with defaults. Null switches a feature off. */
export interface Options extends Required<Omit<DeployOptions, keyof Optional>>, Optional {}

interface Optional {
  readonly concurrencyMax: number | null;
  readonly alarmEmail: string | null;
  readonly tracing: NonNullable<DeployOptions["tracing"]> | null;
  readonly tableName: string | null;
  readonly seal: NonNullable<DeployOptions["seal"]> | null;
}

/**
 * The Lambda timeout of each function. The timeout of a beat depends on the config. A stream of events ends a moment
 * before that of its function, and its reader reconnects. Lambda is not told that a reader is gone, so a longer stream
 * would cost more after that.
 */
const SECONDS = { park: 30, start: 60, sweep: 120, cleanup: 60, api: 29, events: 120 } as const;

/** The Lambda timeout of a function, in seconds. */
export const secondsOf = (fn: DeployedFunction, { beatSeconds }: Pick<Plan, "beatSeconds">): number => {
  const kind = kindOf(fn);
  return kind === "beat" ? beatSeconds : SECONDS[kind];
};

/** Enough for a function that loads no agent. More memory also means more CPU. */
const SMALL_MB = 512;

/** The memory of a function, in MB. `ofAgent`: what `cairn()` says for its agent. */
export const memoryOf = (
  fn: DeployedFunction,
  { options }: Pick<Plan, "options">,
  ofAgent: number = options.memoryMb,
): number => (kindOf(fn) === "beat" ? ofAgent : SMALL_MB);

/** A reservation guarantees this concurrency to a function, and is also its limit. */
export function reservedFor(fn: DeployedFunction, { options, concurrency }: Plan): number | undefined {
  const { concurrencyMax, concurrencyReserved } = options;
  if (kindOf(fn) === "beat") return concurrency[fn] ?? concurrencyMax ?? undefined;
  return concurrencyReserved[fn as keyof Options["concurrencyReserved"]];
}

/** A pass begins once a day, and each event goes on with the one that is under way. */
export const ORPHANS_RATE = "rate(10 minutes)";

/** How often the sweeper runs, in the format of EventBridge Scheduler. */
export const sweepRateOf = ({ options: { sweepMinutes } }: Pick<Plan, "options">): string =>
  `rate(${sweepMinutes} minute${sweepMinutes === 1 ? "" : "s"})`;

/** Every function of a deployment, those of isolated agents included. */
export const functionsOf = ({ isolated, options }: Pick<Plan, "isolated" | "options">): readonly DeployedFunction[] => [
  ...FUNCTIONS,
  ...(options.eventStreams ? ([EVENTS] as const) : []),
  ...agentFunctionsOf({ isolated }),
];

export const agentFunctionsOf = ({ isolated }: Pick<Plan, "isolated">): readonly AgentFunction[] =>
  isolated.map(({ agent }) => agentFunction(agent));

/**
 * The secrets that a function may read. The function of an isolated agent may read only that agent's secrets. The sweep
 * runs no agent: it may read only those that sign webhooks.
 */
export function secretsOf(
  fn: DeployedFunction,
  { secrets, isolated, webhooks }: Pick<Plan, "secrets" | "isolated" | "webhooks">,
): readonly string[] {
  if (kindOf(fn) === "sweep") return [...new Set(webhooks.map(({ secret }) => secret))].toSorted();
  return isolated.find(({ agent }) => agentFunction(agent) === fn)?.secrets ?? secrets;
}

/** The timeouts and delays of the state machine's definition, from the limits of the world. */
export function machineTimesOf({ beatSeconds, limits }: Pick<Plan, "beatSeconds" | "limits">): MachineTimes {
  const { rescueMs, entryAttemptsMax, backoffMsMax } = limitsFor(beatSeconds * 1_000, limits);
  return {
    beatSeconds: secondsOf("beat", { beatSeconds }),
    sweepSeconds: SECONDS.sweep,
    rescueSeconds: Math.ceil(rescueMs / 1_000),
    triesMax: entryAttemptsMax * RETRY_GROUP,
    // Random jitter can double a delay.
    backoffSeconds: Math.max(1, Math.floor(backoffMsMax / 2_000)),
  };
}

const BEAT_SECONDS = 60;

/**
 * Makes the plan from the config, the bundles and the agents. Throws if `beatSeconds` is not a whole number, or if an
 * agent has a cap and no function of its own.
 */
export function planOf(
  {
    beatSeconds = BEAT_SECONDS,
    deploy = {},
    ...config
  }: Pick<Config, "beatSeconds" | "deploy" | "concurrency" | "access" | "webhooks"> & LimitOptions,
  bundles: readonly Pick<Bundle, "name" | "folder" | "digest">[],
  of: { readonly schedules?: readonly DeployedSchedule[]; readonly agents?: readonly AgentSecrets[] } = {},
): Plan {
  if (!Number.isInteger(beatSeconds)) throw new Error(`beatSeconds is ${beatSeconds}: Lambda takes whole seconds`);
  const { memoryMb = 512, logRetention = "1 month", sweepMinutes = 5, env = {}, rollout = "at-once" } = deploy;
  const { isolation = "agent" } = deploy;
  const { schedules = [], agents = [] } = of;
  const secrets = [...new Set(agents.flatMap((each) => each.secrets))].toSorted();
  const [isolated, capped] = [isolatedOf(deploy, agents), Object.entries(config.concurrency ?? {})];
  const { concurrencyReserved = {}, apiRate = 50, spendPerDayUsd = 100, statusShards = 1 } = deploy;
  const { eventStreams = false, console = false } = deploy;
  if (concurrencyReserved.events !== undefined && !eventStreams)
    throw new Error(
      "deploy.concurrencyReserved.events of cairn.config.ts reserves for a function that is not deployed: set deploy.eventStreams: true, or take it out",
    );
  return {
    folders: Object.fromEntries(bundles.map(({ name, folder }) => [name, folder])),
    deployment: deploymentOf(bundles),
    ...{ schedules, secrets, isolated, beatSeconds, access: config.access ?? {} },
    webhooks: deployable(config.webhooks ?? []),
    agents: agents.map(({ agent }) => agent),
    concurrency: Object.fromEntries(capped.map(([agent, most]) => [functionOf(agent, { agents, isolated }), most])),
    limits: limitsIn(config),
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
        eventStreams,
        console,
        spendPerDayUsd,
        statusShards,
      },
      concurrencyMax: deploy.concurrencyMax ?? null,
      alarmEmail: deploy.alarmEmail ?? null,
      tracing: deploy.tracing ?? null,
      seal: deploy.seal ?? null,
      tableName: deploy.tableName ?? null,
    },
  };
}

/** Lambda gives a function 4 KB of environment in all. */
const WEBHOOKS_BYTES_MAX = 2_000;

function deployable(webhooks: readonly Webhook[]): readonly Webhook[] {
  const own = webhooks.find(isOfThisMachine);
  // The rest of a URL may hold a token of the receiver.
  const origin = own === undefined ? "" : new URL(own.url).origin;
  if (own !== undefined) throw new Error(`webhooks of cairn.config.ts name ${origin}, which no deployment can reach`);
  if (Buffer.byteLength(JSON.stringify(webhooks)) <= WEBHOOKS_BYTES_MAX) return webhooks;
  throw new Error(
    `webhooks of cairn.config.ts take more than ${WEBHOOKS_BYTES_MAX} bytes: name fewer, or shorter URLs`,
  );
}

/** The function of an agent with a cap. A deployment with one agent has one function of beats. */
function functionOf(
  agent: string,
  { agents, isolated }: { readonly agents: readonly AgentSecrets[]; readonly isolated: readonly AgentSecrets[] },
): DeployedFunction {
  const what = `concurrency.${agent} of cairn.config.ts`;
  if (!agents.some((each) => each.agent === agent)) throw new Error(`${what} names no agent of this deployment`);
  if (agents.length === 1) return "beat";
  if (isolated.length > 0) return agentFunction(agent);
  throw new Error(`${what} needs a function of this agent alone: take deploy.isolation: "none" out`);
}

/** A digest of all bundles. */
function deploymentOf(bundles: readonly Pick<Bundle, "name" | "digest">[]): string {
  const digests = bundles.map(({ name, digest }) => `${name} ${digest}`).toSorted();
  return createHash("sha256").update(digests.join("\n")).digest("hex").slice(0, 16);
}
