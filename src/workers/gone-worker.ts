/** The end of a worker process, and what it means for the tasks that it had. */
import { endedAt } from "./at-work.ts";
import {
  DRAINED,
  HELD_UP_MS,
  OVERSLEPT,
  type ProcessOptions,
  type WithProcessOptions,
  type Worker,
  lateMs,
} from "./worker-process.ts";

export interface GoneWorker {
  readonly how: string;
  /** Processes of its group that a SIGKILL has not ended, since they hang in the kernel. */
  readonly left: readonly number[];
  /** The machine had no room for it. */
  readonly isOfMachine: boolean;
  /** It ended by itself while the supervisor was stopped (`endedUnseen`). */
  readonly isUnseen: boolean;
}

/** Reports a worker that is gone, and the ends of its tasks. */
export function bury(worker: Worker, gone: GoneWorker & WithProcessOptions): void {
  const { tasks, leaving, identity, isReady } = worker;
  const end = leaving ?? { how: gone.how };
  const code = worker.atWork?.end() ?? [];
  const how = gone.left.length === 0 ? end.how : `${end.how}; killed, and still there: ${gone.left.join(", ")}`;
  worker.spare();
  worker.leaving = end;
  gone.options.onGone(identity, how);
  const lost = [...tasks.values()];
  tasks.clear();
  // Schedule 141: no task of several is to blame for the end of their process. Schedule 241: none is for the machine's.
  // A supervisor that was stopped at the deadline cannot know what else was.
  const isOverslept = end === OVERSLEPT || gone.isUnseen;
  const hasDied = end !== DRAINED && isReady && lost.length === 1 && !isOverslept && !gone.isOfMachine;
  for (const { task, held, spare, onEnd } of lost) {
    spare();
    const run = "payload" in task ? task.payload.run : null;
    if (held === null)
      onEnd({ kind: "failed", how: endedAt(how, run, code), error: null, hasDied, isUnsent: !isReady });
    else onEnd(held.kind === "answered" ? held : { ...held, hasDied: true });
  }
}

/** Whether the supervisor was stopped at the deadline of a process that has ended; asked as soon as that is known. */
export const endedUnseen = ({ leaving, tasks }: Worker, options: ProcessOptions): boolean =>
  leaving === null && [...tasks.values()].some((sent) => lateMs(sent, options) >= HELD_UP_MS);
