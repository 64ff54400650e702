/**
 * `cairn.config.ts`: which agents there are and how they run, the one file a user edits. It is checked before anything
 * is started, and an error names what in it is wrong.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { type Limits, TIMES } from "../protocol/limits.ts";
import { importFile } from "./import-file.ts";
import { PRICE, type Prices } from "./prices.ts";

/** Write `export const config = { ... } satisfies Config`. */
export interface Config {
  /** Agent files, relative to the config file. */
  readonly agents: readonly string[];
  /** The name of a world: `local` is the store in a directory, `aws` is named by the environment. */
  readonly world?: string;
  /** The directory of the local store, relative to the config file. */
  readonly store?: string;
  /** How long one beat may take, 0.5 to 900 (no Lambda lives longer). */
  readonly beatSeconds?: number;
  /** How many days the idempotency key of an ended run is kept, 1 to 366, 30 unless told; its data goes earlier. */
  readonly keyDays?: number;
  /** How many beats run at the same time. */
  readonly workers?: number;
  /** What models cost, by their names: before the list of cairn, after what an agent says itself. */
  readonly prices?: Prices;
  /** How it is deployed to AWS. */
  readonly deploy?: DeployOptions;
}

/** As CloudWatch takes it, in the words of SST. */
const LOG_RETENTIONS = ["1 day", "1 week", "1 month", "3 months", "6 months", "1 year", "5 years", "forever"] as const;

export interface DeployOptions {
  /** Megabytes of the function that runs beats, 512 unless told; with memory comes processor time. */
  readonly memoryMb?: number;
  /** `1 month` unless told. */
  readonly logRetention?: (typeof LOG_RETENTIONS)[number];
  /** How often the sweeper looks, 5 unless told. */
  readonly sweepMinutes?: number;
  /**
   * `agent`, unless told: with two agents or more, the beats of each agent run in a Lambda function of its own
   * (`PREFIX-beat_AGENT`), whose environment and role name the secrets of this agent only. `none`: one function runs the
   * beats of all agents, which share its processes, its environment and its role.
   */
  readonly isolation?: "agent" | "none";
  /**
   * How many beats run at once at most, in each function that runs beats; without it that is left to the account. New
   * accounts refuse it.
   */
  readonly concurrencyMax?: number;
  /**
   * What of the account's concurrency is kept for these functions, so that beats cannot starve them; it is also as much as
   * they may take. Nothing unless told: an account whose limit is 10 refuses every reservation.
   */
  readonly concurrencyReserved?: { readonly sweep?: number; readonly park?: number; readonly api?: number };
  /** Requests a second that the API takes, 50 unless told; twice as many at once. */
  readonly apiRate?: number;
  /** What models may be paid a day before an alarm tells of it, 100 dollars unless told. It stops nothing. */
  readonly spendPerDayUsd?: number;
  /**
   * A table that is there already: one that was restored from a backup, since AWS restores a table under another name. It
   * is used as it is, and neither made nor removed by a deployment.
   */
  readonly tableName?: string;
  /** Who is told of alarms; without it they are only shown. */
  readonly alarmEmail?: string;
  /** What the agents find in their environment; never a secret. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * `at-once`, unless told: new runs begin with the code of each deployment. `by-hand`: with the version that
   * `cairn rollout` says.
   */
  readonly rollout?: "at-once" | "by-hand";
  /** Model replies of one invocation, 1 unless told. */
  readonly beatsPerInvocation?: number;
  /**
   * What is written is sealed with data keys of this KMS key, by its ARN. `required`: nothing without a seal is read, so no run
   * may be alive that began without.
   */
  readonly seal?: { readonly kmsKey: string; readonly required?: boolean };
}

/** A config file that cannot be used, and why. */
export class ConfigInvalid extends Error {
  override readonly name = "ConfigInvalid";
  readonly code = "ConfigInvalid";
}

const FILE = "cairn.config.ts";
const DAY_MS = 24 * 3_600_000;

const path = z.string().min(1);

const schema: z.ZodType<Config> = z.strictObject({
  agents: z.array(path),
  world: z.string().min(1).exactOptional(),
  store: path.exactOptional(),
  beatSeconds: z.number().min(0.5).max(900).exactOptional(),
  keyDays: z
    .number()
    .min(TIMES.keyMsMin / DAY_MS)
    .max(TIMES.keyMsMax / DAY_MS)
    .exactOptional(),
  workers: z.int().min(1).max(1_000).exactOptional(),
  prices: z
    .record(
      z.string().min(1),
      z.strictObject({
        ...PRICE,
        source: z.string().min(1).exactOptional(),
        lookedAt: z.iso.date().exactOptional(),
      }),
    )
    .exactOptional(),
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
        })
        .exactOptional(),
      apiRate: z.int().min(1).max(10_000).exactOptional(),
      spendPerDayUsd: z.number().positive().max(1e6).exactOptional(),
      tableName: z
        .string()
        .regex(/^[\w.-]{3,255}$/)
        .exactOptional(),
      alarmEmail: z.email().exactOptional(),
      // Lambda keeps these names for itself, and cairn its own.
      env: z
        .record(z.string().regex(/^(?!AWS_|CAIRN_|LAMBDA_)[A-Z][A-Z0-9_]*$/), z.string().max(1_024))
        .exactOptional(),
      rollout: z.enum(["at-once", "by-hand"]).exactOptional(),
      beatsPerInvocation: z.int().min(1).max(1_000).exactOptional(),
      seal: z
        .strictObject({
          kmsKey: z.string().regex(/^arn:aws[\w-]*:kms:[\w-]+:\d{12}:key\/[\w-]+$/),
          required: z.boolean().exactOptional(),
        })
        .exactOptional(),
    })
    .exactOptional(),
});

/** The agents that get a function of their own; none where all share one. */
export const isolatedOf = <Agent>(
  { isolation = "agent" }: Pick<DeployOptions, "isolation">,
  agents: readonly Agent[],
): readonly Agent[] => (isolation === "none" || agents.length < 2 ? [] : agents);

/** The limits that a config changes, for every world alike. */
export const limitsIn = ({ keyDays }: Pick<Config, "keyDays">): Pick<Partial<Limits>, "keyRetentionMs"> =>
  keyDays === undefined ? {} : { keyRetentionMs: Math.round(keyDays * DAY_MS) };

/** The config of that directory with its paths made absolute, or null without one. Throws `ConfigInvalid`. */
export async function loadConfig(dir: string): Promise<Config | null> {
  const file = join(resolve(dir), FILE);
  if (!existsSync(file)) return null;
  const imported = await importFile(file);
  if (imported.kind === "broken") {
    throw new ConfigInvalid(`${file} cannot be loaded: ${imported.why}`, { cause: imported.cause });
  }
  if (!("config" in imported.exported)) {
    throw new ConfigInvalid(`${file} exports no config: write export const config = { agents: ["./agent.ts"] };`);
  }
  const checked = schema.safeParse(imported.exported["config"]);
  if (!checked.success) throw new ConfigInvalid(`${file}:\n${checked.error.issues.map(lineOf).join("\n")}`);
  const { agents, store, ...rest } = checked.data;
  return {
    ...rest,
    agents: agents.map((agent) => resolve(dir, agent)),
    ...(store === undefined ? {} : { store: resolve(dir, store) }),
  };
}

/** `config.agents[1]: Invalid input: expected string, received number` */
function lineOf({ path, message }: z.core.$ZodIssue): string {
  const place = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  return `  config${place}: ${message}`;
}
