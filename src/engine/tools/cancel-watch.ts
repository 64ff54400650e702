/**
 * Hears of a cancel while calls are under way, and aborts the signal of those whose class is safe to stop in the middle
 * (`stopsOnCancel` of the effect table). All others are awaited: an abort would make a known outcome an unknown one.
 *
 * Schedule 270: a cancel comes while two calls run. If the abort ended the batch, or took the place of the outcomes, the
 * invocation would release the run beside a call that still acts, and the result of the other one would be lost. So the
 * abort reaches nothing but the signal: the batch awaits each call as before, and records what it gave.
 *
 * Schedule 271: the store does not answer while a call runs. A look that fails says nothing about a cancel, and the next
 * one follows.
 */
import { stopsOnCancel } from "../../core/calls/ledger.ts";
import type { OpenCall } from "../../core/state.ts";
import type { Row } from "../../protocol/row.ts";
import type { ActiveRun } from "../context/active-run.ts";

/** How often an invocation looks for a cancel while such a call is under way, in milliseconds. */
const CANCEL_LOOK_MS = 1_000;

export interface CancelWatch {
  /** Fires when the run is cancelled; null: no call would stop, so nothing is watched. */
  readonly signal: AbortSignal | null;
  readonly end: () => void;
}

export function watchForCancel(run: ActiveRun, calls: readonly OpenCall[]): CancelWatch {
  if (!calls.some(stopsOnCancel)) return { signal: null, end: () => undefined };
  const { clock, table } = run.world;
  const { run: id, born, epoch } = run.row;
  const stop = new AbortController();
  let isOver = false;
  let forget = clock.after(CANCEL_LOOK_MS, () => void look());
  const look = async (): Promise<void> => {
    const row = await table.read(id, run.now).catch((): Row | null => null);
    if (isOver) return;
    if (row?.cancel === true && row.born === born && row.epoch === epoch) stop.abort();
    else forget = clock.after(CANCEL_LOOK_MS, () => void look());
  };
  return {
    signal: stop.signal,
    end: () => {
      isOver = true;
      forget();
    },
  };
}
