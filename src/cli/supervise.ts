/** Starting the supervisor of a store for a command, with workers that know what the command knows. */
import { getCompileCacheDir } from "node:module";
import type { ScheduledAgent, Supervision, Supervisor } from "../ports/supervision.ts";
import type { SupervisorEvent } from "../ports/supervisor-events.ts";
import type { Prices } from "../sdk/prices.ts";
import type { Limits } from "../protocol/limits.ts";
import { CliError, EXIT } from "./errors.ts";
import { holdsIn } from "./workers/pause-at-fault-point.ts";
import type { Settings } from "./settings.ts";
import type { Shell } from "./shell.ts";

/** What a worker needs to know; it travels as JSON. */
export interface WorkerSettings {
  readonly dir: string;
  readonly limits: Limits;
  readonly agentFiles: readonly string[];
  readonly prices: Prices;
}

export interface SuperviseOptions {
  readonly shell: Shell;
  readonly settings: Settings;
  readonly supervision: Supervision;
  readonly workers: number | null;
  /** What it fires beside its work. */
  readonly schedules?: () => readonly ScheduledAgent[];
  readonly onEvent: (event: SupervisorEvent) => void;
}

/** @throws StoreSupervised, StoreUnreachable */
export function supervise(options: SuperviseOptions): Supervisor {
  const { shell, settings, supervision, workers, schedules = () => [], onEvent } = options;
  const { world, limits, agentFiles, prices } = settings;
  const told: WorkerSettings = { dir: world.place, limits, agentFiles, prices };
  const entry = isHeld(shell) ? "held-worker" : "worker";
  return supervision.start({
    worker: {
      module: new URL(`./workers/${entry}.ts`, import.meta.url),
      args: [JSON.stringify(told)],
      execArgv: [],
      // The sooner a child is there, the sooner a run goes on whose process died.
      env: { ...shell.env, NODE_COMPILE_CACHE: getCompileCacheDir() },
    },
    workers: workers ?? settings.workers ?? DEFAULT_WORKERS,
    schedules,
    onEvent,
  });
}

const DEFAULT_WORKERS = 4;

/** Whether `CAIRN_HOLD` asks for it. What is no fault point is refused here: every worker would refuse it, over and over. */
function isHeld({ env }: Shell): boolean {
  try {
    return holdsIn(env["CAIRN_HOLD"]).length > 0;
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    const why = "it names the edge of the protocol at which a process is held";
    throw new CliError({ code: "Usage", exit: EXIT.usage, what, why, next: "unset CAIRN_HOLD" });
  }
}
