/**
 * `cairn.config.ts`, the one file that a user edits: the agents and how they run. It is validated before anything is
 * started, and an error names the wrong field.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";
import { isTenant } from "../core/ids.ts";
import type { TenantShares } from "../protocol/fair-share.ts";
import { type Limits, TIMES } from "../protocol/limits.ts";
import type { ModelRates } from "../protocol/model-rate.ts";
import { type AccessOptions, accessSchema } from "./access.ts";
import { importFile } from "./import-file.ts";
import { parsedOption } from "./issues.ts";
import { priceFields, type Prices } from "./prices.ts";
import { type ReaderOptions, readersSchema } from "./readers.ts";
import type { Webhook } from "../ports/webhooks.ts";
import { webhooksSchema } from "./webhooks.ts";

/** The type of the config file. Write `export const config = { ... } satisfies Config`. */
export interface Config {
  /** Agent files, relative to the config file. */
  readonly agents: readonly string[];
  /** The name of a world: `local` (default) is a store in a directory; the environment names the stores of `aws`. */
  readonly world?: string;
  /** The directory of the local store, relative to the config file; default `.cairn`. */
  readonly store?: string;
  /** The longest time of one beat, 0.5 to 900 seconds (the limit of Lambda); default 60. On AWS whole seconds. */
  readonly beatSeconds?: number;
  /**
   * The most model replies per invocation, 1 to 1000; default 1. With more, a run is claimed and its snapshot written
   * less often, and each intent is still committed before its call. A death loses at most one beat in any case.
   */
  readonly beatsPerInvocation?: number;
  /** How many days the idempotency key of an ended run is kept, 1 to 366, default 30. Its data expires earlier. */
  readonly keyDays?: number;
  /** How many days the audit log keeps who did what, 1 to 3660, default 90. */
  readonly auditDays?: number;
  /** Worker processes of `cairn work`, 1 to 1000; default: the number of CPU cores less one, and at least 1. */
  readonly workers?: number;
  /**
   * How many beats of one agent act in a worker process at the same time, 1 to 1000; default 16. Beats that only wait for
   * their model come on top: 15 for each of these, and 1024 in all at most. With 1 a process has one run at a time: choose
   * it if tools block their process.
   */
  readonly beatsPerWorker?: number;
  /**
   * How many beats of an agent run at the same time at most, 1 to 1000, by the name of the agent; default: no cap. Other
   * beats wait. A name that no agent has is refused. On AWS the function of the agent reserves that concurrency, so the agent must have one of its own.
   */
  readonly concurrency?: Readonly<Record<string, number>>;
  /**
   * What each tenant gets of the places for beats, by its name: `weight`, its part in proportion to the others (default: 1),
   * and `concurrency`, its most beats at once (default: no cap). Other beats wait. On AWS a cap is 100 at most, and a weight
   * means nothing: there beats start at once, as far as the concurrency of the functions goes.
   */
  readonly tenants?: TenantShares;
  /**
   * What the provider of a model allows all runs of this store or deployment together, by the name that the timeline
   * shows, such as `anthropic:claude-opus-4-5`. Further calls wait. Default: no limit.
   */
  readonly modelRates?: ModelRates;
  /** Prices by model name. They override cairn's own list; the price of an agent overrides them. */
  readonly prices?: Prices;
  /** Who may call the HTTP API. */
  readonly access?: AccessOptions;
  /** How many readers a server of this machine follows runs for. On AWS each reader has an invocation of its own. */
  readonly readers?: ReaderOptions;
  /** What all runs together may spend. Default: no cap. */
  readonly spend?: SpendOptions;
  /** Endpoints that hear of the runs, by signed requests; at most ten. */
  readonly webhooks?: readonly Webhook[];
  /** Options of the deployment to AWS. */
  readonly deploy?: DeployOptions;
}

export interface SpendOptions {
  /**
   * Dollars for model calls in a day (UTC), 0.01 to 1,000,000. Once they are spent, no run calls its model before the next
   * day, or before this is raised; and new runs are refused. `deploy.spendPerDayUsd` only warns.
   */
  readonly perDayUsd: number;
}

/** The retention periods that CloudWatch accepts, as SST names them. */
const LOG_RETENTIONS = ["1 day", "1 week", "1 month", "3 months", "6 months", "1 year", "5 years", "forever"] as const;

export interface DeployOptions {
  /** Memory of each function that runs beats, in MB; default 512. Lambda scales CPU with memory. */
  readonly memoryMb?: number;
  /** How long logs are kept; default `1 month`. */
  readonly logRetention?: (typeof LOG_RETENTIONS)[number];
  /** Minutes between two sweeps; default 5. */
  readonly sweepMinutes?: number;
  /**
   * `agent` (default): with two agents or more, the beats of each agent run in a Lambda function of its own
   * (`PREFIX-beat_AGENT`), whose environment and role name the secrets of this agent only. `none`: one function runs the
   * beats of all agents, which share its processes, its environment and its role.
   */
  readonly isolation?: "agent" | "none";
  /**
   * How many beats run at once at most, in each function that runs beats; default: the concurrency of the account. New
   * accounts refuse any value.
   */
  readonly concurrencyMax?: number;
  /**
   * Concurrency reserved for these functions, so that beats cannot starve them; it is also their maximum. Default:
   * none, because an account with a limit of 10 refuses every reservation.
   */
  readonly concurrencyReserved?: {
    readonly sweep?: number;
    readonly park?: number;
    readonly api?: number;
    /** With `eventStreams` only: how many readers follow events at once at most. */
    readonly events?: number;
  };
  /**
   * In how many shards the table lists the runs of one status: 1 (default), 2, 4, 8 or 16. Each shard takes 500 runs of a
   * tenant per second, and makes a list of runs dearer. Read docs/upgrades.md before you raise it.
   */
  readonly statusShards?: 1 | 2 | 4 | 8 | 16;
  /** Requests per second that the API accepts; default 50, with bursts of twice as many. */
  readonly apiRate?: number;
  /**
   * Whether the deployed API also offers the events of a run as a stream. Each reader then holds an invocation of a
   * function for as long as it reads. Default false: readers ask for pages, and wait for them (docs/http-api.md).
   */
  readonly eventStreams?: boolean;
  /**
   * Whether the deployed API shows the console at its root. Its callers then need tokens or signed tokens, since a browser
   * signs no request for AWS. Default false (docs/console.md).
   */
  readonly console?: boolean;
  /** Model cost per day, in dollars, above which an alarm fires; default 100. It stops no run. */
  readonly spendPerDayUsd?: number;
  /**
   * An existing table, for example one restored from a backup, because AWS restores a table under another name.
   * Deployments use it as it is; they neither create nor remove it.
   */
  readonly tableName?: string;
  /** The address that gets alarms by email; without it alarms are only shown in CloudWatch. */
  readonly alarmEmail?: string;
  /**
   * `xray`: the functions, the state machine and the HTTP API send traces to AWS X-Ray, which charges for each. Default:
   * nothing is traced there. The trace of a run by OpenTelemetry is another one (docs/operations.md).
   */
  readonly tracing?: "xray";
  /** Environment variables of the agents; never put a secret here. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * `at-once` (default): new runs start with the code of the newest deployment. `by-hand`: they start with the version
   * that `cairn rollout` selects.
   */
  readonly rollout?: "at-once" | "by-hand";
  /**
   * The ARN of a KMS key whose data keys seal everything that is written. `required`: unsealed data is refused, so set
   * it only when no run is alive that started without a seal.
   */
  readonly seal?: { readonly kmsKey: string; readonly required?: boolean };
}

/** The config file is invalid; the message says which field and why. */
export class ConfigInvalid extends Error {
  override readonly name = "ConfigInvalid";
  readonly code = "ConfigInvalid";
}

/** The names of a config file, the usual one first. */
const FILES = ["ts", "mts", "cts", "js", "mjs", "cjs"].map((ending) => `cairn.config.${ending}`);
const DAY_MS = 24 * 3_600_000;

const tenant = builtOnUse(() => z.string().refine(isTenant, "write a tenant: 1 to 24 lower-case letters and digits"));

const path = builtOnUse(() => z.string().min(1));

const schema = builtOnUse((): z.ZodType<Config> =>
  z.strictObject({
    agents: z.array(path()),
    world: z.string().min(1).exactOptional(),
    store: path().exactOptional(),
    beatSeconds: z.number().min(0.5).max(900).exactOptional(),
    beatsPerInvocation: z.int().min(1).max(1_000).exactOptional(),
    keyDays: z
      .number()
      .min(TIMES.keyMsMin / DAY_MS)
      .max(TIMES.keyMsMax / DAY_MS)
      .exactOptional(),
    auditDays: z
      .number()
      .min(TIMES.auditMsMin / DAY_MS)
      .max(TIMES.auditMsMax / DAY_MS)
      .exactOptional(),
    workers: z.int().min(1).max(1_000).exactOptional(),
    beatsPerWorker: z.int().min(1).max(1_000).exactOptional(),
    concurrency: z.record(z.string().min(1), z.int().min(1).max(1_000)).exactOptional(),
    tenants: z
      .record(
        tenant(),
        z.strictObject({
          weight: z.number().min(0.01).max(100).exactOptional(),
          concurrency: z.int().min(1).max(1_000).exactOptional(),
        }),
      )
      .exactOptional(),
    modelRates: z
      .record(
        z.string().min(1),
        z.strictObject({
          requestsPerMinute: z.number().positive().exactOptional(),
          tokensPerMinute: z.number().positive().exactOptional(),
        }),
      )
      .exactOptional(),
    prices: z
      .record(
        z.string().min(1),
        z.strictObject({
          ...priceFields(),
          source: z.string().min(1).exactOptional(),
          lookedAt: z.iso.date().exactOptional(),
        }),
      )
      .exactOptional(),
    access: accessSchema().exactOptional(),
    readers: readersSchema().exactOptional(),
    webhooks: webhooksSchema().exactOptional(),
    spend: z.strictObject({ perDayUsd: z.number().min(0.01).max(1e6) }).exactOptional(),
    deploy: z
      .strictObject({
        memoryMb: z.int().min(256).max(10_240).exactOptional(),
        logRetention: z.enum(LOG_RETENTIONS).exactOptional(),
        sweepMinutes: z.int().min(1).max(60).exactOptional(),
        isolation: z.enum(["agent", "none"]).exactOptional(),
        concurrencyMax: z.int().min(1).max(1_000).exactOptional(),
        concurrencyReserved: z
          .strictObject({
            sweep: z.int().min(1).max(1_000).exactOptional(),
            park: z.int().min(1).max(1_000).exactOptional(),
            api: z.int().min(1).max(1_000).exactOptional(),
            events: z.int().min(1).max(1_000).exactOptional(),
          })
          .exactOptional(),
        statusShards: z.literal([1, 2, 4, 8, 16]).exactOptional(),
        eventStreams: z.boolean().exactOptional(),
        console: z.boolean().exactOptional(),
        apiRate: z.int().min(1).max(10_000).exactOptional(),
        spendPerDayUsd: z.number().positive().max(1e6).exactOptional(),
        tableName: z
          .string()
          .regex(/^[\w.-]{3,255}$/)
          .exactOptional(),
        alarmEmail: z.email().exactOptional(),
        tracing: z.literal("xray").exactOptional(),
        // Lambda reserves the prefixes AWS_ and LAMBDA_; cairn reserves CAIRN_.
        env: z
          .record(z.string().regex(/^(?!AWS_|CAIRN_|LAMBDA_)[A-Z][A-Z0-9_]*$/), z.string().max(1_024))
          .exactOptional(),
        rollout: z.enum(["at-once", "by-hand"]).exactOptional(),
        seal: z
          .strictObject({
            kmsKey: z.string().regex(/^arn:aws[\w-]*:kms:[\w-]+:\d{12}:key\/[\w-]+$/),
            required: z.boolean().exactOptional(),
          })
          .exactOptional(),
      })
      .exactOptional(),
  }),
);

/** The agents that get a function of their own; none where all share one. */
export const isolatedOf = <Agent>(
  { isolation = "agent" }: Pick<DeployOptions, "isolation">,
  agents: readonly Agent[],
): readonly Agent[] => (isolation === "none" || agents.length < 2 ? [] : agents);

/** The limits that the config overrides, in every world. */
export const limitsIn = ({ beatsPerInvocation, keyDays, auditDays, spend }: LimitOptions): Partial<Limits> => ({
  ...(spend === undefined ? {} : { spendMicroUsdPerDay: Math.round(spend.perDayUsd * 1e6) }),
  ...(auditDays === undefined ? {} : { auditMs: Math.round(auditDays * DAY_MS) }),
  ...(beatsPerInvocation === undefined ? {} : { beatsPerInvocation }),
  ...(keyDays === undefined ? {} : { keyRetentionMs: Math.round(keyDays * DAY_MS) }),
});

export type LimitOptions = Pick<Config, "beatsPerInvocation" | "keyDays" | "auditDays" | "spend">;

/** The config file in `dir`; null if there is none. Throws `ConfigInvalid` if there are two. */
function configFileIn(dir: string): string | null {
  const [file = null, other] = FILES.map((name) => join(resolve(dir), name)).filter((each) => existsSync(each));
  if (file === null || other === undefined) return file;
  throw new ConfigInvalid(`there are two config files, ${file} and ${other}: remove one of them`);
}

/** The config in `dir` with absolute paths; null if there is no config file. Throws `ConfigInvalid`. */
export async function loadConfig(dir: string): Promise<Config | null> {
  const file = configFileIn(dir);
  if (file === null) return null;
  const imported = await importFile(file);
  if (imported.kind === "broken") {
    throw new ConfigInvalid(`${file} cannot be loaded: ${imported.why}`, { cause: imported.cause });
  }
  if (!("config" in imported.exported)) {
    throw new ConfigInvalid(`${file} exports no config: write export const config = { agents: ["./agent.ts"] };`);
  }
  const checked = parsedOption(schema(), imported.exported["config"]);
  if (!checked.success) throw new ConfigInvalid(`${file}:\n${checked.error.issues.map(lineOf).join("\n")}`);
  const { agents, store, ...rest } = checked.data;
  return {
    ...rest,
    agents: agents.map((agent) => resolve(dir, agent)),
    ...(store === undefined ? {} : { store: resolve(dir, store) }),
  };
}

/** One line per issue: `config.agents[1]: it is 7: write a text`. */
function lineOf(issue: z.core.$ZodIssue): string {
  // What is wrong with a name of a record says the schema of its names.
  const [own] = issue.code === "invalid_key" ? issue.issues : [];
  const message = own?.message ?? issue.message;
  const place = issue.path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  return `  config${place}: ${message}`;
}
