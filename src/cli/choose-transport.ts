/** Chooses the transport of a command: the store of its settings, or the API that `--api` names. */
import { type Opened, openExisting, openSettled, openEvenDamaged } from "../compose/open.ts";
import type { Settings } from "../compose/settings.ts";
import type { BeatFlags } from "../compose/surroundings.ts";
import type { Shell } from "./shell.ts";
import type { StoreTransport, Transport } from "./transport.ts";

/** The transport to an existing store, or to the API that `--api` names. */
export const transportTo = (shell: Shell, flags: BeatFlags): Promise<Transport> => chosen(shell, flags, openExisting);

/** The same for a command that only reads: a damaged store is shown as far as it can be read. */
export const transportToRead = (shell: Shell, flags: BeatFlags): Promise<Transport> => chosen(shell, flags, openToRead);

/** The transport to the store of settings that the caller has already. With `create`, it creates a missing store. */
export const transportFor = async (
  shell: Shell,
  settings: Settings,
  how: { readonly create: boolean },
): Promise<StoreTransport> => overStore(shell, openSettled(shell, settings, how));

/** The transport to the API at this URL. */
export const overHttp = async (shell: Shell, api: string): Promise<Transport> =>
  (await import("./remote/http-transport.ts")).httpTransport(shell, api);

async function overStore(shell: Shell, opening: Promise<Opened>): Promise<StoreTransport> {
  // One wait for both: a store that refuses while the module loads would be a rejection that the process does not handle.
  const [opened, { storeTransport }] = await Promise.all([opening, import("./store-transport.ts")]);
  return storeTransport(shell, opened);
}

const chosen = async (shell: Shell, flags: BeatFlags, open: typeof openToRead): Promise<Transport> =>
  flags.api === undefined ? overStore(shell, open(shell, flags)) : overHttp(shell, flags.api);

/** A run that the user typed. */
interface TypedRunWithFlags {
  readonly run: string;
  readonly flags: BeatFlags;
}

interface ReachedRun<T extends Transport> {
  readonly transport: T;
  /** Its whole ID. */
  readonly run: string;
}

async function reached<T extends Transport>(opening: Promise<T>, typed: string, to?: "read"): Promise<ReachedRun<T>> {
  const transport = await opening;
  return { transport, run: await transport.resolve(typed, to) };
}

/** Reaches the run that the user typed. */
export const transportToRun = (shell: Shell, { run, flags }: TypedRunWithFlags): Promise<ReachedRun<Transport>> =>
  reached(transportTo(shell, flags), run);

/** The same for a command that only reads. */
export const transportToReadRun = (shell: Shell, { run, flags }: TypedRunWithFlags): Promise<ReachedRun<Transport>> =>
  reached(transportToRead(shell, flags), run, "read");

/** The store that holds the run that the user typed, for a command that needs the store itself. */
export const storeWithRun = (shell: Shell, { run, flags }: TypedRunWithFlags): Promise<ReachedRun<StoreTransport>> =>
  reached(overStore(shell, openToRead(shell, flags)), run, "read");

/**
 * Opens a store for a command that only reads. If the store is damaged or has lost commits, it warns and shows what can
 * still be read.
 */
const openToRead = (shell: Shell, flags: BeatFlags): Promise<Opened> =>
  openEvenDamaged(shell, flags, ({ message }) =>
    shell.terminal.err(`${shell.terminal.paintErr("red", "warning:")} ${message}`),
  );
