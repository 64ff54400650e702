/** A redriven run in the hands of its next invocation. */
import type { ActiveRun } from "./active-run.ts";

/** The first invocation after a redrive records it: until it has, the state is the one that the run failed in. */
export function recordRedrive(run: ActiveRun): void {
  const { redrive: note } = run.row;
  const { failure } = run.state;
  if (note === undefined || failure === null) return;
  run.record({ kind: "RunRedriven", at: run.now, ...note, failure });
}
