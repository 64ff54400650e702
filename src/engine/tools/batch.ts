/**
 * A batch: the calls that were released together run side by side, and each result is recorded when it is there.
 *
 * Schedule 76: one call of two returns, and the process dies in the other. Committed together, both would be forgotten:
 * the first is repeated, or a human is asked about it although its answer was known. So a result that is worth it is
 * committed while the others still run; the dial says which one (`dial.ts`). The last result needs no commit of its own:
 * it rides on the one that follows the batch anyway. There is one commit at a time.
 *
 * Schedule 77: such a commit fails while other calls run. If the invocation gave up then, the chain's retry would start
 * them beside themselves. So nothing leaves here before each try has ended, or has outlived its timeout and its grace.
 */
import { StateTooLarge } from "../../codec/snapshot.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import type { Try } from "./tool-attempt.ts";
import { isWorthCommit } from "./deferred-commit.ts";

interface Ended<Call> {
  readonly call: Call;
  readonly ended: Try;
  readonly tookMs: number;
}

/** `start` never rejects. `record` is called once for each call, and never twice at a time. */
export async function runBatch<Call extends { readonly open: OpenCall }>(
  run: ActiveRun,
  calls: readonly Call[],
  of: {
    readonly start: (call: Call) => Promise<Try>;
    readonly record: (call: Call, ended: Try) => Promise<void>;
  },
): Promise<void> {
  const running = new Set<Promise<void>>();
  /** Ended, and not recorded yet. */
  const waiting: Ended<Call>[] = [];
  for (const call of calls) {
    const begunAt = run.now;
    const over: Promise<void> = of.start(call).then((ended) => {
      // Set before anything is decided: from when a human may be asked depends on it.
      if (ended.kind === "silent" && ended.outlived) run.noticed.noteOutlived("tool");
      waiting.push({ call, ended, tookMs: run.now - begunAt });
      running.delete(over);
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
      // In the order of the reply, as far as they are there.
      const ready = calls.flatMap((call) => waiting.filter((each) => each.call === call));
      waiting.length = 0;
      for (const { call, ended } of ready) await of.record(call, ended);
      if (isLast) return;
      if (running.size > 0) mayCommit = await commitBetween(run);
    }
  } catch (error) {
    await Promise.allSettled(running);
    throw error;
  }
}

/** False where the state has outgrown its bound: nothing was written, and the commit after the batch meets it as well. */
async function commitBetween(run: ActiveRun): Promise<boolean> {
  try {
    await run.commitPending();
    return true;
  } catch (error) {
    if (!(error instanceof StateTooLarge)) throw error;
    return false;
  }
}
