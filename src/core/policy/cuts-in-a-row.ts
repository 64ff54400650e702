/** How many replies in a row a limit has cut. */
import { BOUNDS } from "../limits.ts";
import type { State } from "../state.ts";

/** The state after a reply that is whole, or after an operator let the run go on. */
export function withoutCuts(state: State): State {
  if (state.cutReplies === undefined) return state;
  const { cutReplies: _, ...rest } = state;
  return rest;
}

/** Whether so many replies in a row were cut that the next one would be, too. */
export const isCutTooOften = ({ cutReplies = 0 }: State): boolean => cutReplies > BOUNDS.cutRepliesMax;
