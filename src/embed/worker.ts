/**
 * `cairn-run/worker`: drives the runs of a local store from a program, as `cairn work` does. The program decides when it
 * ends, so nothing here listens to signals. One process at a time drives a store; another is refused.
 */
import { CliError, EXIT } from "../cli/errors.ts";
import { readSchedules, toFire } from "../cli/commands/firing.ts";
import { openSettled } from "../cli/open.ts";
import { settingsOf } from "../cli/settings.ts";
import { supervise } from "../cli/supervise.ts";
import { asClientErrors, storeFlags, surroundingsOf } from "../client/open-store.ts";
import type { ScheduledAgent } from "../ports/supervision.ts";
import type { SupervisorEvent } from "../ports/supervisor-events.ts";

export type { SupervisorEvent } from "../ports/supervisor-events.ts";
export { CairnError } from "../client/errors.ts";

export interface DriveOptions {
  /** The directory of the local store. Default: from the environment, then the config, then `.cairn`. */
  readonly store?: string;
  /** The folder of `cairn.config.ts`, whose agents run; default: the current one. */
  readonly cwd?: string;
  /** Worker processes; default: from the config, else one less than the processors. */
  readonly workers?: number;
  /** Beats of one agent that a worker process runs at once; default: from the config, else 16. */
  readonly beatsPerWorker?: number;
  /** The most seconds of a beat; default: from the environment, the config, else 60. */
  readonly beatSeconds?: number;
  /** Called for each event, with texts for humans and without secrets. */
  readonly onEvent?: (event: SupervisorEvent) => void;
}

export interface Driving {
  /** The store that is driven, as an absolute path. */
  readonly store: string;
  /** Resolves after `stop`. Rejects if the workers cannot be started or a bug ended the supervisor. */
  readonly stopped: Promise<void>;
  /**
   * Begins no new beat, lets those under way finish, kills what remains after `graceMs` (8 s by default), and closes the
   * store. Runs that have not ended continue with the next process that drives the store.
   */
  readonly stop: (graceMs?: number) => Promise<void>;
}

/**
 * Starts worker processes and drives every run of the store with them, until it is stopped. The schedules of the agents
 * fire as well.
 *
 * @throws CairnError, with the code `StoreSupervised` if another process drives the store
 */
export function driveStore(options: DriveOptions = {}): Promise<Driving> {
  return asClientErrors(async () => {
    const { workers, beatsPerWorker, beatSeconds, onEvent = () => undefined } = options;
    const shell = surroundingsOf(options.cwd);
    const settings = await settingsOf(shell, {
      ...storeFlags({ store: options.store, world: "local" }),
      ...(workers !== undefined && { workers }),
      ...(beatsPerWorker !== undefined && { beatsPerWorker }),
      ...(beatSeconds !== undefined && { beatSeconds: String(beatSeconds) }),
    });
    const opened = await openSettled(shell, settings, { create: true, check: "supervisor" });
    const { supervision } = opened;
    if (supervision === null) throw nothingToDrive();
    const reading = new AbortController();
    let schedules: readonly ScheduledAgent[] = [];
    const supervisor = orClose(opened, () =>
      supervise({ shell, settings, supervision, schedules: () => schedules, onEvent }),
    );
    void readSchedules(shell, { settings, stop: reading.signal }).then(({ scheduled }) => {
      schedules = scheduled.map(toFire);
    });
    const stopped = supervisor.stopped.finally(() => {
      reading.abort();
      opened.close();
    });
    // A program may only call `stop`; what rejects there must not end its process.
    stopped.catch(() => undefined);
    const stop = async (graceMs?: number): Promise<void> => {
      await supervisor.drain(graceMs);
      await stopped;
    };
    return { store: settings.world.place, stopped, stop };
  });
}

/** Closes the store if the work fails. */
function orClose<T>(opened: { readonly close: () => void }, work: () => T): T {
  try {
    return work();
  } catch (error) {
    opened.close();
    throw error;
  }
}

const nothingToDrive = (): CliError =>
  new CliError({
    code: "Usage",
    exit: EXIT.usage,
    what: "there is nothing to drive in this world",
    why: "a service drives its runs",
    next: "npx cairn list",
  });
