/** How the events about memory change the state. */
import { BOUNDS } from "../../core/limits.ts";
import type { MemoryEvents, MemoryRef } from "../../core/memory.ts";
import type { State } from "../../core/state.ts";

export const applyRecalled = (state: State, { refs, section }: MemoryEvents["Recalled"]): State => ({
  ...state,
  memory: { learned: [], ...state.memory, recalled: { refs, section } },
});

/** An entry is kept once: a run that reflects again learns the same entries again. */
export function applyLearned(state: State, { refs }: MemoryEvents["Learned"]): State {
  const { learned = [], ...rest } = state.memory ?? {};
  const all = [...learned, ...unlearned(state, refs)];
  return { ...state, memory: { ...rest, learned: all.slice(-BOUNDS.learnedRefsMax) } };
}

/** Those that the run has not learned yet. */
export const unlearned = (state: State, refs: readonly MemoryRef[]): readonly MemoryRef[] =>
  refs.filter(({ id }) => state.memory?.learned.some((each) => each.id === id) !== true);
