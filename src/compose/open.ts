/** Opens the world that a command works on. */
import { StoreUnusable } from "../ports/store-errors.ts";
import type { OpenWorldOptions, OpenedWorld } from "../ports/world-provider.ts";
import { UserError, EXIT } from "./user-error.ts";
import { sealKeysOf } from "./seal-keys.ts";
import { type Settings, settingsOf } from "./settings.ts";
import type { BeatFlags, Surroundings } from "./surroundings.ts";

/** An open world, with the settings of the command that opened it. */
export interface Opened extends OpenedWorld {
  readonly settings: Settings;
}

type How = Pick<OpenWorldOptions, "create" | "check">;

/**
 * Opens the world of an existing store. Fails with `StoreMissing` if there is none, instead of creating an empty one.
 */
export async function openExisting(shell: Surroundings, flags: BeatFlags, check?: How["check"]): Promise<Opened> {
  const settings = await settingsOf(shell, flags);
  if (!settings.world.isThere()) throw storeMissing(shell, settings);
  return openSettled(shell, settings, { create: false, ...(check !== undefined && { check }) });
}

function storeMissing({ worlds }: Surroundings, { provider, world, command }: Settings): UserError {
  const { options = [] } = worlds.find(({ name }) => name === provider.name) ?? {};
  const variableOf = (option: string): string => provider.settings.find(({ name }) => name === option)?.variable ?? "";
  const names = options.map(({ name }) => `--${name} or ${variableOf(name)}`);
  return new UserError({
    code: "StoreMissing",
    exit: EXIT.store,
    what: `there is no store at ${world.place}`,
    why: `the first run creates a store; to name another one: ${names.join(", ")}`,
    next: command("start", "AGENT"),
  });
}

/**
 * Opens an existing store for what only reads. If the store is damaged or has lost commits, `onUnusable` hears of it, and
 * what can still be read is.
 */
export async function openEvenDamaged(
  shell: Surroundings,
  flags: BeatFlags,
  onUnusable: (error: StoreUnusable) => void,
): Promise<Opened> {
  try {
    return await openExisting(shell, flags);
  } catch (error) {
    if (!(error instanceof StoreUnusable)) throw error;
    onUnusable(error);
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
