/**
 * `cairn-run/worker`: drives the runs of a local store from a program, as `cairn work` does. The program decides when it
 * ends, so nothing here listens to signals. One process at a time drives a store; another is refused.
 */
import { checkCapsApart } from "../compose/check-caps.ts";
import { UserError, EXIT } from "../compose/user-error.ts";
import { followSchedules, toFire } from "../compose/schedules.ts";
import { openSettled } from "../compose/open.ts";
import { settingsOf } from "../compose/settings.ts";
import { supervise, type WorkerSettings } from "../compose/supervise.ts";
import { asClientErrors, storeFlags, surroundingsOf } from "../client/open-store.ts";
import { checkGiven, checkRepeatable, entryIn, firedFor, nothingToDrive } from "../compose/given-agents.ts";
import { beatsHere, startWorker } from "../compose/workers/start-worker.ts";
import { NO_FAULTS } from "../ports/fault-point.ts";
import { AGENTS, type FormsOf, MODULE, checkEmbeddingOptions } from "./checked-options.ts";
import { FUNCTION, NUMBER, TEXT, oneOf } from "../sdk/option-forms.ts";
import type { Agent } from "../ports/agent.ts";
import { BeatsEnded, type ScheduledAgent } from "../ports/supervision.ts";
import type { SupervisorEvent } from "../ports/supervisor-events.ts";

export type { SupervisorEvent } from "../ports/supervisor-events.ts";
export { CairnError } from "../client/errors.ts";

export interface DriveOptions {
  /** The directory of the local store. Default: from the environment, then the config, then `.cairn`. */
  readonly store?: string;
  /** The folder of `cairn.config.ts`, whose agents run; default: the current one. */
  readonly cwd?: string;
  /**
   * The agents, as objects: for a program that is bundled, and has neither agent files nor a config. Then
   * `cairn.config.ts` is not read, and `entry` names the module that their worker processes begin with.
   */
  readonly agents?: readonly Agent[];
  /**
   * The module that a worker process begins with, such as `new URL("./cairn-worker.js", import.meta.url)`. It calls
   * `workFor({ agents })` with the same agents.
   */
  readonly entry?: URL | string;
  /**
   * `in this process`: the beats of `agents` run in the caller's process, and no worker process starts. Only for agents
   * whose tools have the effects `none`, `keyed` and `idempotent`. Once a call has outlived its timeout, which only the end of the process
   * could stop, it takes no further beat: `stopped` rejects with the code `BeatsEnded`, and the store is released. Default:
   * beats run in worker processes.
   */
  readonly beats?: "in this process";
  /** Worker processes; default: from the config, else one less than the processors. */
  readonly workers?: number;
  /** Beats of one agent that a process runs at once; in this process: of all; default: from the config, else 16. */
  readonly beatsPerWorker?: number;
  /** The most seconds of a beat; default: from the environment, the config, else 60. */
  readonly beatSeconds?: number;
  /** Called for each event, with texts for humans and without secrets. What it throws is ignored. */
  readonly onEvent?: (event: SupervisorEvent) => void;
}

const FORMS: FormsOf<DriveOptions> = {
  store: TEXT,
  cwd: TEXT,
  agents: AGENTS,
  entry: MODULE,
  beats: oneOf("in this process"),
  workers: NUMBER,
  beatsPerWorker: NUMBER,
  beatSeconds: NUMBER,
  onEvent: FUNCTION,
};

export interface Driving {
  /** The store that is driven, as an absolute path. */
  readonly store: string;
  /** Resolves after `stop`. Rejects if the workers cannot be started or a bug ended the supervisor. */
  readonly stopped: Promise<void>;
  /** Why this process takes no further beat although nobody stopped it (`BeatsEnded`); null: it takes them. */
  readonly ended: () => string | null;
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
    requireNode();
    checkEmbeddingOptions("driveStore", options, FORMS);
    const { workers, beatsPerWorker, beatSeconds, agents, beats } = options;
    const entry = entryIn(options);
    const onEvent = withoutErrors(options.onEvent ?? (() => undefined));
    const shell = surroundingsOf(options.cwd, agents);
    const settings = await settingsOf(shell, {
      ...storeFlags({ store: options.store, world: "local" }),
      ...(workers !== undefined && { workers }),
      ...(beatsPerWorker !== undefined && { beatsPerWorker }),
      ...(beatSeconds !== undefined && { beatSeconds: String(beatSeconds) }),
    });
    if (agents === undefined) await checkCapsApart(shell, settings);
    else await checkGiven(agents, settings);
    if (beats !== undefined && agents !== undefined) checkRepeatable(agents);
    const opened = await openSettled(shell, settings, { create: true, check: "supervisor" });
    const { supervision } = opened;
    if (supervision === null) throw nothingToDrive();
    const reading = new AbortController();
    let schedules: readonly ScheduledAgent[] = agents === undefined ? [] : firedFor(agents);
    const { world } = opened;
    const here = beats === undefined ? undefined : beatsHere({ agents: agents ?? [], world, env: shell.env, settings });
    const supervisor = orClose(opened, () =>
      supervise({ shell, settings, supervision, schedules: () => schedules, onEvent, entry, here }),
    );
    if (agents === undefined)
      void followSchedules(shell, {
        settings,
        stop: reading.signal,
        onRead: ({ scheduled }) => {
          schedules = scheduled?.map(toFire) ?? schedules;
        },
      });
    let ended: string | null = null;
    const say = (error: unknown): never => {
      if (error instanceof BeatsEnded) {
        const { run, what, why: mend } = error;
        ended = error.message;
        onEvent({ kind: "beatsEnded", run, what, mend });
        world.telemetry.record({
          at: world.clock.now(),
          run: run ?? "",
          level: "alarm",
          what: error.code,
          detail: { why: `${what}; ${mend}` },
        });
      }
      throw error;
    };
    const stopped = supervisor.stopped.catch(say).finally(() => {
      reading.abort();
      opened.close();
    });
    // A program may only call `stop`; what rejects there must not end its process.
    stopped.catch(() => undefined);
    const stop = async (graceMs?: number): Promise<void> => {
      await supervisor.drain(graceMs);
      await stopped.catch((error: unknown) => {
        // `stopped` has said so.
        if (!(error instanceof BeatsEnded)) throw error;
      });
    };
    return { store: settings.world.place, stopped, ended: () => ended, stop };
  });
}

/**
 * Runs beats for `driveStore({ agents, entry })`, which starts a process with the module that calls this. The call never
 * ends, and the module does nothing else: the process is killed and replaced at will. Started by anything else, it throws.
 */
export function workFor({ agents }: { readonly agents: readonly Agent[] }): void {
  const [, file = "", told] = process.argv;
  if (process.send === undefined || told === undefined) {
    const why =
      "workFor belongs into the module that `entry` of driveStore names, and that module is started by it alone";
    throw Object.assign(new Error(why), { code: "WorkerEntryInvalid" });
  }
  startWorker({
    settings: JSON.parse(told) as WorkerSettings,
    env: surroundingsOf().env,
    inject: NO_FAULTS,
    given: { agents, file },
  });
}

/** Another runtime starts processes, but they do not answer as worker processes of Node do. */
function requireNode(): void {
  const other = Object.keys(process.versions).find((name) => name === "bun" || name === "deno");
  if (other === undefined) return;
  throw new UserError({
    code: "NodeNeeded",
    exit: EXIT.usage,
    what: `driveStore does not run on ${other === "bun" ? "Bun" : "Deno"}`,
    why: "beats run in worker processes of Node; what mounts the API of the store may run there",
    next: "node drive.js",
  });
}

/** What fails while an event is written to a log must not stop the runs. */
const withoutErrors =
  (onEvent: (event: SupervisorEvent) => void) =>
  (event: SupervisorEvent): void => {
    try {
      onEvent(event);
    } catch {
      // The program's own log cannot be written, so there is no place to say it.
    }
  };

/** Closes the store if the work fails. */
function orClose<T>(opened: { readonly close: () => void }, work: () => T): T {
  try {
    return work();
  } catch (error) {
    opened.close();
    throw error;
  }
}
