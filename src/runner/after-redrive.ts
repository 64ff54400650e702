/** A redriven run in the hands of its next invocation, and as others see it until that one has recorded the redrive. */
import { redriven as foldRedrive } from "../core/redrive.ts";
import type { State } from "../core/state.ts";
import type { Row } from "../protocol/row.ts";
import type { ActiveRun } from "./active-run.ts";

/** The first invocation after a redrive records it: until it has, the state is the one that the run failed in. */
export function recordRedrive(run: ActiveRun): void {
  const { redrive: note } = run.row;
  const { failure } = run.state;
  if (note === undefined || failure === null) return;
  run.record({ kind: "RunRedriven", at: run.now, ...note, failure });
}

/**
 * The state as it is about to stand: nobody is to be asked about a call that the next invocation takes up again. An answer
 * about one would be acknowledged and have no effect.
 */
export function aboutToBe({ redrive: note }: Row, state: State): State {
  const { failure } = state;
  if (note === undefined || failure === null) return state;
  return foldRedrive(state, { kind: "RunRedriven", at: 0, ...note, failure });
}
