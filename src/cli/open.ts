/** The world that a command works on, opened. */
import { StoreUnusable } from "../ports/store-errors.ts";
import type { OpenWorldOptions, OpenedWorld } from "../ports/world-provider.ts";
import { CliError, EXIT } from "./errors.ts";
import { sealKeysOf } from "./seal-keys.ts";
import { type Settings, settingsOf } from "./settings.ts";
import type { BeatFlags, Shell } from "./shell.ts";

export interface Opened extends OpenedWorld {
  readonly settings: Settings;
}

type How = Pick<OpenWorldOptions, "create" | "check">;

/** The world with every run in it. A command that only looks must find a store there. */
export async function openExisting(shell: Shell, flags: BeatFlags, check?: How["check"]): Promise<Opened> {
  const settings = await settingsOf(shell, flags);
  if (!settings.world.isThere()) throw storeMissing(shell, settings);
  return openSettled(shell, settings, { create: false, ...(check !== undefined && { check }) });
}

function storeMissing({ worlds }: Shell, { provider, world, command }: Settings): CliError {
  const { options = [] } = worlds.find(({ name }) => name === provider.name) ?? {};
  const variableOf = (option: string): string => provider.settings.find(({ name }) => name === option)?.variable ?? "";
  const names = options.map(({ name }) => `--${name} or ${variableOf(name)}`);
  return new CliError({
    code: "StoreMissing",
    exit: EXIT.store,
    what: `there is no store at ${world.place}`,
    why: `a store comes to be with the first run; ${names.join(", ")} names another one`,
    next: command("start", "AGENT"),
  });
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

export async function openSettled(shell: Shell, settings: Settings, how: How): Promise<Opened> {
  const { provider, world, limits } = settings;
  const sealKeys = await sealKeysOf(shell, provider);
  return { ...(await world.open({ ...how, limits, sealKeys })), settings };
}

/** Who works on the runs, for programs: the process ID of a supervisor, the name of a world whose service does; null: nothing does. */
export const attendantOf = (opened: Opened): number | string | null => opened.attendant()?.id ?? null;
