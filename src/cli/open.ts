/** The store that a command works on, as a world. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Store, openStore } from "../adapters/local/database.ts";
import { localWorld } from "../adapters/local/world.ts";
import type { World } from "../ports/world.ts";
import { CliError, EXIT } from "./errors.ts";
import { type Settings, settingsOf } from "./settings.ts";
import type { BeatFlags, Shell } from "./shell.ts";

export interface Opened {
  readonly settings: Settings;
  readonly store: Store;
  readonly world: World;
}

/** The store with every run in it. Who only looks must find one there. */
export async function openExisting(shell: Shell, flags: BeatFlags): Promise<Opened> {
  const settings = await settingsOf(shell, flags);
  if (isMissing(settings)) {
    throw new CliError({
      code: "StoreMissing",
      exit: EXIT.store,
      what: `there is no store at ${settings.dir}`,
      why: "a store comes to be with the first run; --store or CAIRN_STORE names another one",
      next: settings.command("start", "AGENT"),
    });
  }
  return openSettled(settings, { create: false });
}

export function openSettled(settings: Settings, { create }: { readonly create: boolean }): Opened {
  const store = openStore({ dir: settings.dir, create });
  // A command only looks and writes messages: what beats record is told by the processes that run them.
  const telemetry = { record: (): void => {} };
  return { settings, store, world: localWorld({ store, limits: settings.limits, telemetry }) };
}

/** Nothing is there. Something else that is there is judged by whoever opens it. */
export const isMissing = ({ dir }: Settings): boolean =>
  !existsSync(dir) || (statSync(dir).isDirectory() && !existsSync(join(dir, "cairn.sqlite")));
