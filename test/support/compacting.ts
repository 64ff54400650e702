/** Compactions as the runner would make them, for runs that tests make up. */
import type { Event } from "../../src/core/event.ts";
import type { State } from "../../src/core/state.ts";
import { stretchOf } from "../../src/engine/model/compaction-range.ts";
import { compacted } from "./build.ts";

export const compactable = (state: State): boolean => stretchOf(state) !== null;

/** More may have been said since it was decided; a stretch that is there stays there. */
export function summed(state: State): Event {
  const { from, stays } = stretchOf(state) ?? { from: 0, stays: [] };
  const made = compacted(state, from);
  return { ...made, window: { from, lead: [...made.window.lead, ...stays] } };
}
