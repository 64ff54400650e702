/** What a decided end still asks of a run: compensation, a restart, and the children that have to end first. */
import { mayHaveHappened } from "../calls/open-calls.ts";
import type { State } from "../state.ts";

/** What a run still does before its decided end. It starts nothing else. */
export type CompensationStep = "compensate" | "undo" | "calls" | "conclude";

/** Null if nothing is to be undone before the end, or if no end is decided. */
export function nextCompensationStep(state: State): CompensationStep | null {
  const { ending, saga, open, undo = [] } = state;
  if (ending === null || ending.forced === true || (ending.kind === "failed" && ending.next === "leave")) return null;
  if (ending.kind === "cancelled" && !asksToUndo(state)) return null;
  if (saga !== undefined)
    return open.length > 0 ? "calls" : undo.length > 0 ? "undo" : ending.kind === "failed" ? "conclude" : null;
  const again = ending.kind === "failed" && wantsRestart(state);
  return undo.length > 0 || open.some(mayHaveHappened) || again ? "compensate" : null;
}

/** An operator asked for a restart, and the run has started. */
export const wantsRestart = ({ compensate, phase }: State): boolean =>
  compensate?.next === "restart" && phase !== "Preparing";

/** An operator cancelled the run after another word had decided that it restarts: that end holds no longer. */
export const isRestartRevoked = (state: State): boolean =>
  state.ending?.kind === "failed" && state.ending.restarts === true && asksToUndo(state);

const asksToUndo = ({ compensate }: State): boolean => compensate?.next === "cancel";

/** C5: no end and no restart is committed while an entry stands, unless the end is forced (C6). */
export const waitsForChildren = ({ children, ending }: State): boolean =>
  children.length > 0 && ending?.forced !== true;

/** The failure code of a run whose deadline has passed. */
export const DEADLINE_EXPIRED = "DeadlineExpired";

/** The end of this run is decided, because its deadline has passed. */
export const endsByDeadline = ({ ending }: State): boolean =>
  ending?.kind === "failed" && ending.failure.code === DEADLINE_EXPIRED;

/**
 * When the deadline of the run ends what it does now; null: never. A run that must stop already makes its closing call.
 * An end that was decided for another reason keeps its own course.
 */
export function expiresAt(state: State): number | null {
  const { deadline, ending, phase, pausedFrom } = state;
  if (deadline === undefined || (pausedFrom ?? phase) === "ForceStop") return null;
  if (ending === null) return deadline.at;
  const isAtWork = nextCompensationStep(state) !== null || waitsForChildren(state);
  return endsByDeadline(state) && isAtWork ? deadline.endBy : null;
}
