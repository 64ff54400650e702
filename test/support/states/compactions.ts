/** Compactions like those of the runner, for synthetic runs. */
import type { Event } from "../../../src/core/event.ts";
import type { State } from "../../../src/core/state.ts";
import { compactionRangeOf } from "../../../src/features/compaction/range.ts";
import { EVENT } from "./states-and-events.ts";

/** Messages may have arrived since the decision; the range to compact is unchanged. */
export function compactionEvent(state: State): Event {
  const { from, stays } = compactionRangeOf(state) ?? { from: 0, stays: [] };
  const made = EVENT.compacted(state, from);
  return { ...made, window: { from, lead: [...made.window.lead, ...stays] } };
}
