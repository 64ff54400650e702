/**
 * The settings of a command. Each comes from the first source that has it: flag, environment, config, default.
 *
 * The config is the `cairn.config.ts` of the current directory. Without one, the agents of cairn's own package are
 * available, so that `cairn start travel` works anywhere. Nothing else of that package's config applies, least of all
 * its store.
 */
import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { type Config, limitsIn, loadConfig } from "../sdk/config.ts";
import type { AccessOptions } from "../sdk/access.ts";
import type { TenantShares } from "../protocol/fair-share.ts";
import type { ModelRates } from "../protocol/model-rate.ts";
import type { Prices } from "../sdk/prices.ts";
import type { ReaderOptions } from "../sdk/readers.ts";
import { registerResolution } from "../sdk/resolution.ts";
import type { Webhook } from "../ports/webhooks.ts";
import { InvariantViolated } from "../core/ensure.ts";
import { type Limits, limitsFor } from "../protocol/limits.ts";
import type { ConfiguredWorld, WorldProvider } from "../ports/world-provider.ts";
import { UserError, EXIT } from "./user-error.ts";
import type { BeatFlags, Surroundings } from "./surroundings.ts";
import { commandLine, retryAfter, retyped } from "../render/words.ts";
import { configuredIn, optionsIn, providerOf } from "./worlds.ts";

/** The settings of one command, from flags, environment, config and defaults. */
export interface Settings {
  readonly provider: WorldProvider;
  /** The stores of the world that the user selected. */
  readonly world: ConfiguredWorld;
  /** Agent files of the config, as absolute paths. */
  readonly agentFiles: readonly string[];
  /** cairn's own example agents, if there is no config. */
  readonly exampleFiles: readonly string[];
  /** Whether the current directory has a config. */
  readonly hasConfig: boolean;
  readonly limits: Limits;
  /** Who may call the HTTP API, from the config. */
  readonly access: AccessOptions;
  /** How many readers a server follows runs for, from the config. */
  readonly readers: ReaderOptions;
  /** The endpoints that hear of the runs, from the config. */
  readonly webhooks: readonly Webhook[];
  /** Prices of models, from the config. */
  readonly prices: Prices;
  /** The rate limits of models, from the config. */
  readonly modelRates: ModelRates;
  /** Whether each agent is deployed to a function of its own, from the config. */
  readonly isolation: "agent" | "none";
  /** The number of worker processes. */
  readonly workers: number;
  /** How many beats of one agent a worker process runs at once. */
  readonly beatsPerWorker: number;
  /** The most beats of an agent at once, by the name of the agent. */
  readonly concurrency: Readonly<Record<string, number>>;
  readonly tenants: TenantShares;
  /** Builds a command that the user can type, for the same store. */
  readonly command: (...words: readonly string[]) => string;
}

/** The folder of cairn, with its examples; null in a deployed function, which has none. */
function ownPackage(): string | null {
  try {
    return dirname(fileURLToPath(import.meta.resolve("#package")));
  } catch {
    return null;
  }
}

const BEAT_SECONDS = 60;
const BEATS_PER_WORKER = 16;

/** `beatSeconds`: the maximum duration of a beat if no source sets it. */
export async function settingsOf(shell: Surroundings, flags: BeatFlags, beatSeconds = BEAT_SECONDS): Promise<Settings> {
  registerResolution();
  const isGiven = shell.agents !== undefined;
  const config = isGiven ? null : await loadConfig(shell.cwd);
  const own = config === null && !isGiven ? ownPackage() : null;
  const examples = own === null ? null : await loadConfig(own);
  const provider = await providerOf(shell, { flags, config });
  const options = shell.worlds.flatMap((world) => world.options);
  const named = optionsIn(flags);
  return {
    provider,
    world: configuredIn(shell, provider, { flags, config }),
    agentFiles: config?.agents ?? [],
    exampleFiles: examples?.agents ?? [],
    hasConfig: config !== null,
    limits: limitsOf(shell, { flags, config, beatSeconds }),
    access: config?.access ?? {},
    readers: config?.readers ?? {},
    webhooks: config?.webhooks ?? [],
    prices: config?.prices ?? {},
    modelRates: config?.modelRates ?? {},
    workers: flags.workers ?? config?.workers ?? Math.max(1, availableParallelism() - 1),
    beatsPerWorker: flags.beatsPerWorker ?? config?.beatsPerWorker ?? BEATS_PER_WORKER,
    concurrency: config?.concurrency ?? {},
    tenants: config?.tenants ?? {},
    isolation: config?.deploy?.isolation ?? "agent",
    command: (...words) =>
      commandLine([
        ...words,
        ...options.flatMap(({ name }) => typed(`--${name}`, named[name])),
        ...typed("--world", flags.world),
      ]),
  };
}

const typed = (option: string, value: string | undefined): readonly string[] =>
  value === undefined ? [] : [option, value];

function limitsOf(
  shell: Surroundings,
  {
    flags,
    config,
    beatSeconds,
  }: { readonly flags: BeatFlags; readonly config: Config | null; readonly beatSeconds: number },
): Limits {
  const { env } = shell;
  const said = flags.beatSeconds ?? (env["CAIRN_BEAT_SECONDS"] || config?.beatSeconds) ?? beatSeconds;
  const seconds = Number(said);
  if (!(seconds >= 0.5 && seconds <= 900)) {
    const next = retyped(shell, "--beat-seconds", String(BEAT_SECONDS));
    throw usage({ what: `a beat cannot last ${said} seconds`, why: "it lasts 0.5 to 900 seconds", next });
  }
  try {
    return limitsFor(Math.round(seconds * 1_000), { ...limitsIn(config ?? {}), ...changesOf(shell) });
  } catch (error) {
    if (!(error instanceof InvariantViolated)) throw error;
    throw usage({
      what: "the limits do not fit together",
      why: error.message,
      next: retryAfter(shell.argv, "correct them"),
    });
  }
}

const names = Object.keys(limitsFor(BEAT_SECONDS * 1_000)) as (keyof Limits)[];
const change = z.partialRecord(z.enum(names), z.number());

/** Reads single limits from `CAIRN_LIMITS`, for tests and trials. */
function changesOf(shell: Surroundings): Partial<Limits> {
  const text = shell.env["CAIRN_LIMITS"];
  if (text === undefined || text === "") return {};
  try {
    return change.parse(JSON.parse(text));
  } catch {
    const why = `it is JSON such as {"settleMs":1000}, and may have: ${names.join(", ")}`;
    throw usage({ what: "CAIRN_LIMITS is not understood", why, next: "unset CAIRN_LIMITS" });
  }
}

const usage = (words: { readonly what: string; readonly why: string; readonly next: string }): UserError =>
  new UserError({ code: "Usage", exit: EXIT.usage, ...words });
