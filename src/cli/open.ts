/** The store that a command works on, as a world. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { type OpenOptions, type Store, openStore } from "../adapters/local/database.ts";
import { supervisorOf } from "../adapters/local/processes.ts";
import { StoreUnusable } from "../adapters/local/store-errors.ts";
import { environmentSealKeys } from "../adapters/local/seal-keys.ts";
import { localSecrets } from "../adapters/local/secrets.ts";
import { localWorld } from "../adapters/local/world.ts";
import type { Secrets } from "../ports/secrets.ts";
import type { World } from "../ports/world.ts";
import { sealKeysOf } from "./seal-keys.ts";
import { CliError, EXIT } from "./errors.ts";
import { type Settings, settingsOf } from "./settings.ts";
import type { BeatFlags, Shell } from "./shell.ts";
import type { AwsNames } from "./worlds.ts";

export interface Opened {
  readonly settings: Settings;
  readonly world: World;
  /** The embedded store; null in a world that is not embedded. */
  readonly store: Store | null;
  /** How often a run that is being watched is read. */
  readonly lookEveryMs: number;
}

export interface OpenedStore extends Opened {
  readonly store: Store;
}

/** The store with every run in it. Who only looks must find one there. */
export async function openExisting(shell: Shell, flags: BeatFlags, check?: OpenOptions["check"]): Promise<Opened> {
  const settings = await settingsOf(shell, flags);
  if (settings.aws !== null) return openAws(settings, settings.aws);
  if (isMissing(settings)) {
    throw new CliError({
      code: "StoreMissing",
      exit: EXIT.store,
      what: `there is no store at ${settings.dir}`,
      why: "a store comes to be with the first run; --store or CAIRN_STORE names another one",
      next: settings.command("start", "AGENT"),
    });
  }
  return openSettled(settings, { create: false, ...(check !== undefined && { check }) });
}

/** For a command that only reads: of a damaged store, or one that lost commits, it shows what is there, and says so. */
export async function openToRead(shell: Shell, flags: BeatFlags): Promise<Opened> {
  try {
    return await openExisting(shell, flags);
  } catch (error) {
    if (!(error instanceof StoreUnusable)) throw error;
    shell.terminal.err(`${shell.terminal.paintErr("red", "warning:")} ${error.message}`);
    return openExisting(shell, flags, "none");
  }
}

/** Of the embedded world, also where there is no store yet. */
export async function openOrCreate(settings: Settings): Promise<Opened> {
  return settings.aws === null ? openSettled(settings, { create: true }) : openAws(settings, settings.aws);
}

export function openSettled(settings: Settings, how: Omit<OpenOptions, "dir">): OpenedStore {
  const store = openStore({ dir: settings.dir, ...how });
  return {
    settings,
    store,
    lookEveryMs: 100,
    world: localWorld({
      ...{ store, limits: settings.limits, telemetry: SILENT },
      ...{ secrets: secretsIn(store, settings), sealKeys: environmentSealKeys(settings) },
    }),
  };
}

const secretsIn = (store: Store, { env, cwd }: Settings): Secrets =>
  localSecrets({ store, env, file: join(cwd, ".env") });

/** What speaks to AWS is loaded here, and by nobody who does not need it. */
async function openAws(settings: Settings, names: AwsNames): Promise<Opened> {
  const { awsWorld } = await import("../adapters/aws/world.ts");
  const { deploymentOf } = await import("../adapters/aws/keys.ts");
  const { parameterSecrets } = await import("../adapters/aws/secrets.ts");
  const secrets = parameterSecrets({ deployment: deploymentOf(names.machine), names: null });
  return {
    settings,
    store: null,
    lookEveryMs: 500,
    world: awsWorld({
      ...{ ...names, limits: settings.limits, telemetry: SILENT },
      ...{ secrets, sealKeys: await sealKeysOf(settings) },
    }),
  };
}

/** A command only looks and writes messages: what beats record is told by the processes that run them. */
const SILENT = { record: (): void => {} };

/** Who works on the runs: the pid of a supervisor, the world by itself, or nobody. */
export type Attendant = number | "aws" | null;

export const attendantOf = ({ store }: Opened): Attendant =>
  store === null ? "aws" : (supervisorOf(store)?.pid ?? null);

/** Nothing is there. Something else that is there is judged by whoever opens it. */
export const isMissing = ({ dir }: Settings): boolean =>
  !existsSync(dir) || (statSync(dir).isDirectory() && !existsSync(join(dir, "cairn.sqlite")));
