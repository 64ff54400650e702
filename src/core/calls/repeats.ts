/**
 * Work that a topology repeats inside a run that goes on: a stage that begins again, another plan, another round. What
 * the earlier run of it did outside is undone first, newest first, or it stands and an equal call asks.
 *
 * Each undo is a call of its own, as in a saga: it is intended, released and recovered like any other call.
 */
import type { EventOf } from "../event.ts";
import type { Repeats, State } from "../state.ts";

const NONE: Repeats = { due: [], undone: [], standing: [] };

export const repeatsOf = ({ repeats }: Pick<State, "repeats">): Repeats => repeats ?? NONE;

/** The call whose effect is undone next, before the repeated work begins; null: none is left. */
export const undoneNext = (state: Pick<State, "repeats" | "saga" | "ending">): string | null =>
  state.saga === undefined && state.ending === null ? (repeatsOf(state).due.at(-1) ?? null) : null;

/** The state after a move that repeats work. `undo` and `standing`: its calls, oldest first. */
export function beginRepeat(
  state: State,
  { undo = [], standing = [] }: NonNullable<EventOf<"TopologyMoved">["repeats"]>,
): State {
  const { undone, standing: before } = repeatsOf(state);
  const kept = before.filter((call) => !undo.includes(call));
  return { ...state, repeats: { due: undo, undone, standing: [...kept, ...standing] } };
}

/** The state after the undo of `call` was settled. */
export function settleRepeat(state: State, call: string, isUndone: boolean): State {
  const { repeats } = state;
  if (repeats === undefined) return state;
  const others = (calls: readonly string[]): readonly string[] => calls.filter((each) => each !== call);
  return {
    ...state,
    repeats: {
      due: others(repeats.due),
      undone: isUndone ? [...repeats.undone, call] : repeats.undone,
      standing: isUndone ? others(repeats.standing) : [...others(repeats.standing), call],
    },
  };
}

/** The end is decided, so nothing is repeated: what was to be undone for that stands, unless the saga undoes it. */
export function endRepeats(state: State): State {
  const { repeats } = state;
  if (repeats === undefined) return state;
  return { ...state, repeats: { ...repeats, due: [], standing: [...repeats.standing, ...repeats.due] } };
}

/** A restart keeps what was undone: its key stays used, since the service would answer with it (schedule 264). */
export function afterRestart({ repeats }: Pick<State, "repeats">): Pick<State, "repeats"> {
  const { undone = [] } = repeats ?? {};
  return undone.length === 0 ? {} : { repeats: { ...NONE, undone } };
}

/** Effects of work that was repeated, as far as they stand. */
export function leftStanding(state: Pick<State, "repeats">): readonly string[] {
  const { due, standing } = repeatsOf(state);
  return [...standing, ...due];
}
