/** What the simulation says of one feature: what it promises, and what of it the histories must have met. */
import type { Simulated } from "../history.ts";
import type { ObservedHistory } from "../observed-history.ts";

export interface Feature {
  /** True if it takes part in that history. */
  readonly isIn: (history: Simulated) => boolean;
  /** Everything that is wrong with it in a history that is over. */
  readonly wrong: (seen: ObservedHistory) => readonly string[];
  /** The rows of the reach table. */
  readonly cells: readonly string[];
  /** Those that a history met. */
  readonly met: (seen: ObservedHistory) => readonly string[];
}
