/** What the seed chooses for the sagas of a history. */
import type { Effect } from "../../src/core/calls/effects.ts";
import type { SeededChoices } from "./seeded-choices.ts";

const UNDOES = ["keyed", "probed", "unsafe"] as const;

export interface SagaPlan {
  readonly onFailure: "undo" | "leave";
  readonly restarts: number;
  readonly leaving: "nothing" | "effects";
  /** How the undo of each tool may be repeated. */
  readonly undoes: Readonly<Record<string, Exclude<Effect, "none">>>;
  /** The definition of done holds from so many beats on, of all attempts. */
  readonly doneFrom: number;
  /** What follows where nobody knows what an unsafe or probed call came to. */
  readonly onUnknown: "ask" | "compensate";
  /** Keyed calls name their deeds themselves. */
  readonly ownKeys: boolean;
}

const SAGA_ONE_IN = 4;

export function sagaPlanOf(chance: SeededChoices): SagaPlan | null {
  if (!chance.oneIn(SAGA_ONE_IN)) return null;
  return {
    onFailure: chance.oneIn(6) ? "leave" : "undo",
    restarts: chance.below(3),
    leaving: chance.oneIn(2) ? "effects" : "nothing",
    undoes: Object.fromEntries(UNDOES.map((tool) => [tool, chance.pick(["keyed", "keyed", "probed", "unsafe"])])),
    doneFrom: chance.pick([0, 6, 12, 1_000]),
    onUnknown: chance.oneIn(2) ? "compensate" : "ask",
    ownKeys: chance.oneIn(2),
  };
}
