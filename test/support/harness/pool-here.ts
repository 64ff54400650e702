/** The pool of a program that runs beats in its own process, on a clock that the test moves. */
import { virtualClock } from "../../../src/adapters/memory/clock.ts";
import type { BeatsEnded } from "../../../src/ports/supervision.ts";
import type { Invocation } from "../../../src/ports/tasks.ts";
import type { Reply, Task, TaskResult } from "../../../src/protocol/chain.ts";
import { createPoolHere } from "../../../src/workers/pool-here.ts";
import type { TaskEnd } from "../../../src/workers/worker-process.ts";
import { NOW } from "../../process/fixtures/store.ts";

export const BEAT_MS = 60_000;
export const WISH = { agent: "clerk", execution: "e", failures: 0 };

export function poolHere() {
  const clock = virtualClock(NOW);
  const begun: { readonly invocation: Invocation; readonly answer: PromiseWithResolvers<TaskResult> }[] = [];
  const ended: BeatsEnded[] = [];
  const pool = createPoolHere({
    here: {
      run: (_, invocation) => {
        const answer = Promise.withResolvers<TaskResult>();
        begun.push({ invocation, answer });
        return answer.promise;
      },
      clean: (text) => text,
      onBroken: () => undefined,
    },
    ...{ beatsPerWorker: 2, beatMs: BEAT_MS, clock },
    onEnded: (error) => ended.push(error),
  });
  const begin = (run: string): TaskEnd[] => {
    const taken = pool.take(WISH);
    if (taken === null) throw new Error("the pool takes no task");
    const ends: TaskEnd[] = [];
    pool.run(taken, { task: { kind: "beat", payload: { run } } as Task, onEnd: (end) => ends.push(end) });
    return ends;
  };
  return { clock, pool, begun, ended, begin };
}

export const reply = { route: "done" } as Partial<Reply> as Reply;
