/** A redriven run in the hands of its next invocation, and as others see it until that one has recorded the redrive. */
import { redriven as foldRedrive } from "../core/policy/redrive.ts";
import type { State } from "../core/state.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { SegmentCache } from "./load.ts";
import { loadVouched } from "./vouch.ts";

/** What is stored, as it is about to stand. Throws `Unreadable`. */
export async function loadAboutToBe(world: World, row: Row): Promise<State> {
  const { state } = await loadVouched(world, row, new SegmentCache());
  return aboutToBe(row, state, world.clock.now());
}

/**
 * The state as it is about to stand: no operator is to be asked about a call that the next invocation takes up again. An answer
 * about one would be acknowledged and have no effect.
 */
export function aboutToBe({ redrive: note }: Row, state: State, at: number): State {
  const { failure } = state;
  if (note === undefined || failure === null) return state;
  return foldRedrive(state, { kind: "RunRedriven", at, ...note, failure });
}
