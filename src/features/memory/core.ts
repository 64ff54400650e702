/** How the events about memory change the state. */
import type { EventRows } from "../../core/features.ts";
import { BOUNDS } from "../../core/limits.ts";
import type { MemoryEvents, MemoryRef } from "../../core/memory.ts";
import type { State } from "../../core/state.ts";

const applyRecalled = (state: State, { refs, section }: MemoryEvents["Recalled"]): State => ({
  ...state,
  memory: { learned: [], ...state.memory, recalled: { refs, section } },
});

/** An entry is kept once: a run that reflects again learns the same entries again. */
function applyLearned(state: State, { refs }: MemoryEvents["Learned"]): State {
  const { learned = [], ...rest } = state.memory ?? {};
  const all = [...learned, ...unlearned(state, refs)];
  return { ...state, memory: { ...rest, learned: all.slice(-BOUNDS.learnedRefsMax) } };
}

/** Those that the run has not learned yet. */
export const unlearned = (state: State, refs: readonly MemoryRef[]): readonly MemoryRef[] =>
  refs.filter(({ id }) => state.memory?.learned.some((each) => each.id === id) !== true);

/** The events of this feature: in which phases each may happen, and what it changes. */
export const MEMORY_EVENTS: EventRows<keyof MemoryEvents> = {
  Recalled: { in: ["AwaitingLLM"], apply: applyRecalled },
  Learned: { in: ["Reflecting"], apply: applyLearned },
};
