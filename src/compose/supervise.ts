/** Starts the supervisor of a store for a command, with workers that get the settings of that command. */
import nodeModule from "node:module";
import type {
  BeatsHere,
  LostLines,
  ScheduledAgent,
  StartedAhead,
  Supervision,
  Supervisor,
  WorkerOptions,
} from "../ports/supervision.ts";
import type { SupervisorEvent } from "../ports/supervisor-events.ts";
import type { Prices } from "../sdk/prices.ts";
import type { Webhook } from "../ports/webhooks.ts";
import type { ModelRates } from "../protocol/model-rate.ts";
import type { Limits } from "../protocol/limits.ts";
import { UserError, EXIT } from "./user-error.ts";
import { holdsIn } from "../testing/pause-at-fault-point.ts";
import type { Settings } from "./settings.ts";
import type { Surroundings } from "./surroundings.ts";
import { unsignedWebhooks } from "./webhook-secrets.ts";
import { startAhead } from "../workers/spawn-worker.ts";
import { ALLOCATOR } from "../workers/wire.ts";

/** The settings of a worker process. They are passed as JSON. */
export interface WorkerSettings {
  readonly dir: string;
  readonly limits: Limits;
  readonly agentFiles: readonly string[];
  readonly prices: Prices;
  readonly modelRates: ModelRates;
  /** Absent: none, as under `cairn chaos`, which tells nobody. */
  readonly webhooks?: readonly Webhook[];
}

/** What a command passes to its supervisor. */
export interface CommandSupervision {
  readonly shell: Surroundings;
  /** What of its output this process could not write; absent: it is not counted. */
  readonly lostOutput?: () => LostLines | null;
  readonly settings: Settings;
  readonly supervision: Supervision;
  /** The module that a worker process begins with; absent: that of cairn, which loads agent files. */
  readonly entry?: URL | string | undefined;
  /** Beats in this process, without worker processes; absent: worker processes have them. */
  readonly here?: BeatsHere | undefined;
  /** A worker that `workerAhead` has started. */
  readonly ahead?: StartedAhead;
  /** The schedules that it fires besides driving runs. */
  readonly schedules?: () => readonly ScheduledAgent[];
  readonly onEvent: (event: SupervisorEvent) => void;
}

/** @throws StoreSupervised, StoreUnreachable */
export function supervise(options: CommandSupervision): Supervisor {
  const { shell, settings, supervision, ahead, schedules = () => [], lostOutput, onEvent } = options;
  const { world, limits, agentFiles, prices, modelRates, webhooks, workers, beatsPerWorker, concurrency, tenants } =
    settings;
  const told: WorkerSettings = { dir: world.place, limits, agentFiles, prices, modelRates, webhooks };
  const isOneHeld = isHeld(shell);
  void unsignedWebhooks(settings).then((all) => {
    for (const { to, why, mend } of all) onEvent({ kind: "webhookUnsigned", to, why, mend });
  });
  const entry = options.entry ?? moduleOf(isOneHeld ? "held-worker" : "worker");
  return supervision.start({
    worker: options.here ?? {
      ...launchOf(shell, entry),
      args: [JSON.stringify(told)],
      ...(ahead !== undefined && { ahead }),
    },
    workers,
    // A process that is killed at a fault point of one run must not take other runs along.
    beatsPerWorker: isOneHeld ? 1 : beatsPerWorker,
    concurrency,
    tenants,
    schedules,
    ...(lostOutput !== undefined && { lostOutput }),
    onEvent,
  });
}

/** The first worker of a supervisor that this process is about to start; null if there can be none. */
export const workerAhead = (shell: Surroundings): StartedAhead | null =>
  isHeld(shell) ? null : startAhead(launchOf(shell, moduleOf("worker")));

const moduleOf = (entry: string): URL => new URL(import.meta.resolve(`#compose/workers/${entry}`));

const launchOf = ({ env }: Surroundings, module: URL | string): Omit<WorkerOptions, "args"> => ({
  module,
  execArgv: WORKER_FLAGS,
  // A compile cache shortens the start of a child, and with it the recovery of a run whose process died.
  env: { ...ALLOCATOR, ...env, NODE_COMPILE_CACHE: (nodeModule as Partial<typeof nodeModule>).getCompileCacheDir?.() },
  tellsCode: true,
});

/** Node 22 warns in each process that its SQLite is experimental. Users can do nothing about that. */
export const NO_WARNINGS = "--disable-warning=ExperimentalWarning";

/**
 * The garbage of a beat dies young. By default V8 lets the space for young objects grow to 96 MB before it looks at the
 * old ones, and a process of many runs gains nothing by it.
 */
export const WORKER_FLAGS: readonly string[] = [NO_WARNINGS, "--max-semi-space-size=4"];

/**
 * Whether `CAIRN_HOLD` names fault points. An invalid value is refused here; otherwise every worker would fail on it
 * again and again.
 */
function isHeld({ env }: Surroundings): boolean {
  try {
    return holdsIn(env["CAIRN_HOLD"]).length > 0;
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    const why = "it names the fault point of the protocol at which a process pauses";
    throw new UserError({ code: "Usage", exit: EXIT.usage, what, why, next: "unset CAIRN_HOLD" });
  }
}
