/** Records the redrive of a failed run in its next invocation. */
import type { ActiveRun } from "../../engine/context/active-run.ts";

/**
 * Records the redrive that the row names. The first invocation after a redrive does this; until then the state is still
 * the failed one.
 */
export function recordRedrive(run: ActiveRun): void {
  const { redrive: note } = run.row;
  const { failure } = run.state;
  if (note === undefined || failure === null) return;
  run.record({ kind: "RunRedriven", at: run.now, ...note, failure });
}
