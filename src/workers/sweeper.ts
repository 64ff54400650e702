/** The sweeps of a supervisor: one at a time, in a worker that has loaded no agent. */
import type { SupervisorEvent } from "../ports/supervisor-events.ts";
import type { Clock } from "../ports/world.ts";
import type { TaskEnd } from "./worker-process.ts";
import type { Pool, Worker } from "./workers.ts";

const SWEEP_EVERY_MS = 60_000;

interface SweeperOptions {
  readonly clock: Pick<Clock, "now">;
  readonly onEvent: (event: SupervisorEvent) => void;
  /** A sweep ended, so there may be work. */
  readonly onProgress: () => void;
}

export function sweeper({ clock, onEvent, onProgress }: SweeperOptions, pool: Pick<Pool, "run">) {
  let dueAt = 0;
  let isOut = false;
  return {
    isDue: (): boolean => !isOut && clock.now() >= dueAt,
    dueAt: (): number => dueAt,
    start: (worker: Worker): void => {
      isOut = true;
      dueAt = clock.now() + SWEEP_EVERY_MS;
      const onEnd = (end: TaskEnd): void => {
        isOut = false;
        if (end.kind === "failed") onEvent({ kind: "sweepFailed", how: end.how, error: end.error });
        onProgress();
      };
      pool.run(worker, { task: { kind: "sweep" }, onEnd });
    },
  };
}
