/**
 * A batch: calls that were released together run in parallel, and each result is recorded when it arrives.
 *
 * Schedule 76: one call of two returns, and the process dies in the other. If both results needed one commit, both
 * would be lost. The first call would be repeated, or an operator would be asked about it although its outcome was
 * known. So a result that is worth a commit is committed while the other calls still run; the dial decides which
 * (`dial.ts`). The last result needs no commit of its own, because a commit follows the batch anyway. Only one commit
 * runs at a time.
 *
 * Schedule 77: such a commit fails while other calls run. If the invocation ended then, the chain's retry would start
 * the same calls in parallel to them. So `runBatch` returns or throws only after each attempt has ended or outlived its
 * timeout and its grace.
 */
import { StateTooLarge } from "../../codec/snapshot.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import type { Try } from "./tool-attempt.ts";
import { isWorthCommit } from "./deferred-commit.ts";

/** An attempt that has ended, and how long it took. */
interface Ended<Call> {
  readonly call: Call;
  readonly ended: Try;
  readonly tookMs: number;
}

/** Runs the calls. `start` must never reject. `record` is called once for each call and never concurrently. */
export async function runBatch<Call extends { readonly open: OpenCall }>(
  run: ActiveRun,
  calls: readonly Call[],
  steps: {
    readonly start: (call: Call) => Promise<Try>;
    readonly record: (call: Call, ended: Try) => Promise<void>;
  },
): Promise<void> {
  const running = new Set<Promise<void>>();
  /** Attempts that have ended and are not recorded yet. */
  const waiting: Ended<Call>[] = [];
  for (const call of calls) {
    const begunAt = run.now;
    run.noticed.noteUnderWay(1);
    const over: Promise<void> = steps.start(call).then((ended) => {
      // Set this before any decision: the time from which an operator may be asked depends on it.
      if (ended.kind === "silent" && ended.outlived) run.noticed.noteOutlived("tool");
      waiting.push({ call, ended, tookMs: run.now - begunAt });
      running.delete(over);
      run.noticed.noteUnderWay(-1);
    });
    running.add(over);
  }
  let mayCommit = true;
  try {
    for (;;) {
      const isLast = running.size === 0;
      if (!isLast && !(mayCommit && waiting.some((each) => isWorthCommit(run, each.call.open, each.tookMs)))) {
        await Promise.race(running);
        continue;
      }
      // Record the results that have arrived in the order of the reply.
      const ready = calls.flatMap((call) => waiting.filter((each) => each.call === call));
      waiting.length = 0;
      for (const { call, ended } of ready) await steps.record(call, ended);
      if (isLast) return;
      if (running.size > 0) mayCommit = await commitBetween(run);
    }
  } catch (error) {
    await Promise.allSettled(running);
    throw error;
  }
}

/**
 * Commits what is pending. Returns false if the state has outgrown its bound. Nothing was written then, and the commit
 * after the batch meets the same error.
 */
async function commitBetween(run: ActiveRun): Promise<boolean> {
  try {
    await run.commitPending();
    return true;
  } catch (error) {
    if (!(error instanceof StateTooLarge)) throw error;
    return false;
  }
}
