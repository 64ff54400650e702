/**
 * What a command works with, from the nearest source that says it: flag, environment, config, default.
 *
 * The config is the `cairn.config.ts` of the current directory. Without one the agents of cairn's own package are known,
 * so that `cairn start travel` works anywhere; nothing else of that config applies, least of all its store.
 */
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { type Config, limitsIn, loadConfig } from "../sdk/config.ts";
import type { Prices } from "../sdk/prices.ts";
import { InvariantViolated } from "../core/ensure.ts";
import { type Limits, limitsFor } from "../protocol/limits.ts";
import { CliError, EXIT } from "./errors.ts";
import { retyped } from "./input.ts";
import type { BeatFlags, Shell } from "./shell.ts";
import { commandLine } from "./render/words.ts";
import { type AwsNames, awsNamesOf } from "./worlds.ts";

export interface Settings {
  /** The directory of the embedded store, absolute. */
  readonly dir: string;
  /** Null is the embedded world. */
  readonly aws: AwsNames | null;
  /** Agent files of the config, absolute. */
  readonly agentFiles: readonly string[];
  /** Those of cairn itself, where there is no config. */
  readonly exampleFiles: readonly string[];
  /** There is a config in the current directory. */
  readonly hasConfig: boolean;
  readonly limits: Limits;
  /** Where secrets are looked for: here, and in the `.env` of the current directory. */
  readonly env: Shell["env"];
  readonly cwd: string;
  /** Of models, as the config says. */
  readonly prices: Prices;
  /** Whether agents are deployed to functions of their own, as the config says. */
  readonly isolation: "agent" | "none";
  /** How many workers the config asks for, or null. */
  readonly workers: number | null;
  /** A command to type that means the same store. */
  readonly command: (...words: readonly string[]) => string;
}

const OWN_PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const BEAT_SECONDS = 60;

/** `beatSeconds`: what a beat may take where nobody says so. */
export async function settingsOf(shell: Shell, flags: BeatFlags, beatSeconds = BEAT_SECONDS): Promise<Settings> {
  const { env, cwd } = shell;
  const config = await loadConfig(cwd);
  const examples = config === null ? await loadConfig(OWN_PACKAGE) : null;
  const named = flags.store ?? env["CAIRN_STORE"];
  return {
    dir: resolve(cwd, named || (config?.store ?? join(cwd, ".cairn"))),
    aws: awsNamesOf(shell, { flags, config }),
    agentFiles: config?.agents ?? [],
    exampleFiles: examples?.agents ?? [],
    hasConfig: config !== null,
    limits: limitsOf(shell, { flags, config, beatSeconds }),
    ...{ env, cwd, prices: config?.prices ?? {}, workers: config?.workers ?? null },
    isolation: config?.deploy?.isolation ?? "agent",
    command: (...words) => commandLine([...words, ...typed("--store", flags.store), ...typed("--world", flags.world)]),
  };
}

const typed = (option: string, value: string | undefined): readonly string[] =>
  value === undefined ? [] : [option, value];

function limitsOf(
  shell: Shell,
  of: { readonly flags: BeatFlags; readonly config: Config | null; readonly beatSeconds: number },
): Limits {
  const { env } = shell;
  const said = of.flags.beatSeconds ?? (env["CAIRN_BEAT_SECONDS"] || of.config?.beatSeconds) ?? of.beatSeconds;
  const seconds = Number(said);
  if (!(seconds >= 0.5 && seconds <= 900)) {
    const next = retyped(shell, "--beat-seconds", String(BEAT_SECONDS));
    throw usage({ what: `a beat cannot last ${said} seconds`, why: "it lasts 0.5 to 900 seconds", next });
  }
  try {
    return limitsFor(Math.round(seconds * 1_000), { ...limitsIn(of.config ?? {}), ...changesOf(shell) });
  } catch (error) {
    if (!(error instanceof InvariantViolated)) throw error;
    throw usage({ what: "the limits do not fit together", why: error.message, next: commandLine(shell.argv) });
  }
}

const names = Object.keys(limitsFor(BEAT_SECONDS * 1_000)) as (keyof Limits)[];
const change = z.partialRecord(z.enum(names), z.number());

/** Single limits may be set through the environment, for tests and trials. */
function changesOf(shell: Shell): Partial<Limits> {
  const text = shell.env["CAIRN_LIMITS"];
  if (text === undefined || text === "") return {};
  try {
    return change.parse(JSON.parse(text));
  } catch {
    const why = `it is JSON such as {"settleMs":1000}, and may have: ${names.join(", ")}`;
    throw usage({ what: "CAIRN_LIMITS is not understood", why, next: "unset CAIRN_LIMITS" });
  }
}

const usage = (of: { readonly what: string; readonly why: string; readonly next: string }): CliError =>
  new CliError({ code: "Usage", exit: EXIT.usage, ...of });
