/** The state of a redriven run before its next invocation has recorded the redrive. */
import { applyRedrive } from "./core.ts";
import type { State } from "../../core/state.ts";
import type { Row } from "../../protocol/row.ts";
import type { World } from "../../ports/world.ts";
import { SegmentCache } from "../../history/load.ts";
import { loadVouched } from "../../history/vouch.ts";

/** The stored state with a pending redrive applied. Throws `Unreadable`. */
export async function loadAfterRedrive(world: World, row: Row): Promise<State> {
  const { state } = await loadVouched(world, row, new SegmentCache());
  return stateAfterRedrive(row, state, world.clock.now());
}

/**
 * The state with a pending redrive applied. Without this, an operator could be asked about a call that the next
 * invocation takes up again. The answer would be acknowledged and would have no effect.
 */
export function stateAfterRedrive({ redrive: note }: Row, state: State, at: number): State {
  const { failure } = state;
  if (note === undefined || failure === null) return state;
  return applyRedrive(state, { kind: "RunRedriven", at, ...note, failure });
}
