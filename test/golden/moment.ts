/** A moment in the life of a run, as golden files keep it. */
import type { Event } from "../../src/core/event.ts";
import type { State } from "../../src/core/state.ts";

export interface Moment {
  readonly moment: string;
  readonly state: State;
  readonly events: readonly Event[];
}
