/** Opens the world that a command works on. */
import { StoreUnusable } from "../ports/store-errors.ts";
import type { OpenWorldOptions, OpenedWorld } from "../ports/world-provider.ts";
import { CliError, EXIT } from "./errors.ts";
import { sealKeysOf } from "./seal-keys.ts";
import { type Settings, settingsOf } from "./settings.ts";
import type { BeatFlags, Shell, Surroundings } from "./shell.ts";

/** An open world, with the settings of the command that opened it. */
export interface Opened extends OpenedWorld {
  readonly settings: Settings;
}

type How = Pick<OpenWorldOptions, "create" | "check">;

/**
 * Opens the world of an existing store. Fails with `StoreMissing` if there is none, instead of creating an empty one.
 */
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
    why: `the first run creates a store; to name another one: ${names.join(", ")}`,
    next: command("start", "AGENT"),
  });
}

/**
 * Opens a store for a command that only reads. If the store is damaged or has lost commits, it warns and shows what can
 * still be read.
 */
export async function openToRead(shell: Shell, flags: BeatFlags): Promise<Opened> {
  try {
    return await openExisting(shell, flags);
  } catch (error) {
    if (!(error instanceof StoreUnusable)) throw error;
    shell.terminal.err(`${shell.terminal.paintErr("red", "warning:")} ${error.message}`);
    return openExisting(shell, flags, "none");
  }
}

/** Opens the world of settings that the caller has already. With `how.create`, it creates a missing store. */
export async function openSettled(shell: Surroundings, settings: Settings, how: How): Promise<Opened> {
  const { provider, world, limits } = settings;
  const sealKeys = await sealKeysOf(shell, provider);
  return { ...(await world.open({ ...how, limits, sealKeys })), settings };
}

/**
 * The process or service that drives the runs, for programs: a supervisor's process ID or a world's name; null if there
 * is none.
 */
export const attendantOf = (opened: Opened): number | string | null => opened.attendant()?.id ?? null;
