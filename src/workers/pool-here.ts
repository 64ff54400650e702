/**
 * Beats in the process of the supervisor itself, for a program that asks for it by name (ADR 0149).
 *
 * Nothing in this process can be ended without ending the program. So once anything of a task has outlived its time, the
 * process takes no further task: what it has commits and ends, and the store is released (schedule 266). What is late acts
 * on beside the next owner of its run, so only agents whose calls may be repeated run here.
 */
import { BeatsEnded, type BeatsHere } from "../ports/supervision.ts";
import { IntrinsicChanged } from "../ports/intrinsics.ts";
import type { Clock } from "../ports/world.ts";
import { taskError } from "./serve.ts";
import type { Pool, Taken } from "./workers.ts";
import type { TaskEnd, Work } from "./worker-process.ts";

export interface HereOptions {
  readonly here: BeatsHere;
  /** Beats at once. */
  readonly beatsPerWorker: number;
  readonly beatMs: number;
  readonly clock: Clock;
  /** Called once: this process takes no further task, since something in it outlived its time. */
  readonly onEnded: (error: BeatsEnded) => void;
}

/** Tasks of the house beside the beats: they are never kept waiting by them. */
const HOUSE_MAX = 2;

export function createPoolHere({ here, beatsPerWorker, beatMs, clock, onEnded }: HereOptions): Pool<Taken> {
  const self: Taken = { identity: { pid: process.pid } };
  const leave = new AbortController();
  const out = new Set<(end: TaskEnd) => void>();
  let [kept, isClosed] = [0, false];
  /** The promise of a drain that waits for the last task; null: no drain waits. */
  let emptied: PromiseWithResolvers<void> | null = null;

  const end = (run: string | null, what: string): void => {
    leave.abort();
    if (isClosed) return;
    isClosed = true;
    onEnded(new BeatsEnded(run, what));
  };
  here.onBroken((error) => end(error.culprit?.run ?? null, error.message));

  /** What the task came to, and what of it has outlived it; null: nothing. */
  const outcome = async ({ task }: Work): Promise<{ readonly end: TaskEnd; readonly late: string | null }> => {
    let mayAct = false;
    try {
      const invocation = { deadline: clock.now() + beatMs, drain: leave.signal, mustEnd: () => void (mayAct = true) };
      const result = await here.run(task, invocation);
      if (result.kind !== "exit") return { end: { kind: "answered", answer: result }, late: null };
      return { end: { kind: "answered", answer: { kind: "beat", reply: result.reply } }, late: OUTLIVED };
    } catch (thrown) {
      const told = taskError(thrown);
      const run = "payload" in task ? task.payload.run : null;
      const by = thrown instanceof IntrinsicChanged && thrown.culprit?.run === run ? thrown.culprit : null;
      const error = { ...told, message: here.clean(told.message), ...(by !== null && { changed: by }) };
      return { end: { kind: "failed", how: "the task threw", error, hasDied: true }, late: mayAct ? OUTLIVED : null };
    }
  };
  return {
    take: ({ execution }) => {
      const most = execution === null ? beatsPerWorker + HOUSE_MAX : beatsPerWorker;
      if (isClosed || out.size + kept >= most) return null;
      kept += 1;
      return self;
    },
    run: (_, work) => {
      kept -= 1;
      const run = "payload" in work.task ? work.task.payload.run : null;
      const settle = (over: TaskEnd): void => {
        if (!out.delete(settle)) return;
        spare();
        work.onEnd(over);
        if (out.size === 0) emptied?.resolve();
      };
      const spare = clock.after(beatMs, () => {
        // Schedule 141: of several tasks none is to blame.
        const hasDied = out.size === 1;
        end(run, "a beat outlived its deadline");
        settle({ kind: "failed", how: "it outlived its deadline", error: null, hasDied });
      });
      out.add(settle);
      void outcome(work).then((over) => {
        if (over.late !== null) end(run, over.late);
        settle(over.end);
      });
    },
    load: () => {
      const free = isClosed ? 0 : Math.max(0, beatsPerWorker - out.size);
      const process = { ...self.identity, agent: null, tasks: out.size, waiting: 0, free };
      return { processes: [process], processesMax: 1, free };
    },
    hasJudged: () => true,
    beginRound: () => {},
    askBack: () => {},
    freeUnused: () => {
      kept = 0;
    },
    drain: async (graceMs, pace) => {
      isClosed = true;
      if (pace === "hurry") leave.abort();
      if (out.size === 0) return;
      const takeBack = clock.after(graceMs, () => {
        for (const settle of out) settle({ kind: "failed", how: STOPPED, error: null, hasDied: false });
      });
      emptied ??= Promise.withResolvers<void>();
      await emptied.promise;
      takeBack();
    },
  };
}

const OUTLIVED = "a call outlived its timeout";
const STOPPED = "its process stopped driving the store before it was over";
