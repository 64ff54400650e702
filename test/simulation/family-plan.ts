/** What a history of a family is: its levels, how each of its runs fails, and what is done to it. Drawn once. */
import { type Effect, EFFECT_NAMES } from "../../src/core/calls/effects.ts";
import { BOSS_KINDS, type BossKind, REPEATING } from "./family-topologies.ts";
import type { PlantedFence } from "./family-fences.ts";
import type { SeededChoices } from "./seeded-choices.ts";

/** What a person, a retention or the platform does to a family. */
export type Disturbance = "cancel" | "undo" | "restart" | "pause" | "send" | "remove";

export interface FamilyPlan {
  /** How many children each boss of a level dispatches at once, from the root down. The workers are below them. */
  readonly widths: readonly number[];
  /** The topologies of the bosses, from the root down. */
  readonly bosses: readonly BossKind[];
  /** Each boss dispatches its children twice. */
  readonly isTwice: boolean;
  readonly deadlineMs: number;
  readonly tries: number;
  /** One of its children is left alone. */
  readonly leaves: boolean;
  /** The bosses of this level fail at their end, and undo what they did; null: none. */
  readonly failsAt: number | null;
  readonly restarts: number;
  /** The budget of the root; null: as much as its family can need. */
  readonly beats: number | null;
  /** How many processes of a boss, and of a worker, may die in a row. */
  readonly takeovers: number;
  readonly takeoversOfWorker: number;
  /** How long the model of the root thinks. */
  readonly slowMs: number;
  /** How often an operator redrives the root, if it fails and may go on. */
  readonly redrives: number;
  /** How often a worker gives an answer that its boss does not take: once in so many answers. */
  readonly liesOneIn: number;
  /** How often trouble of a worker begins once it acted: its provider is away, or its answers cannot be used; 0: never. */
  readonly failsOneIn: number;
  /** The effect class of the workers' calls. */
  readonly effect: Effect;
  readonly faultOneIn: number;
  /** How often a person forks a run of the family, in steps; 0: never. */
  readonly forkOneIn: number;
  /** How often a process is killed, frozen or presumed dead, in steps. */
  readonly strikeOneIn: number;
  readonly disturbOneIn: number;
  readonly wishes: readonly Disturbance[];
  /** A rule of the fence that is off; absent: none. */
  readonly planted?: PlantedFence;
  /** From this step on nothing more is done to the family. */
  readonly calmStep: number;
}

/** The names of the agents, from the root down. */
export const BOSSES = ["root", "middle", "lower"] as const;

export function familyPlan(chance: SeededChoices): FamilyPlan {
  const kinds = chance.child("bosses");
  const widths = widthsOf(chance);
  return {
    widths,
    bosses: widths.map(() => kinds.pick(BOSS_KINDS)),
    isTwice: chance.oneIn(4),
    deadlineMs: chance.pick([600, 4_000, 30_000, 600_000]),
    tries: 1 + chance.below(3),
    leaves: chance.oneIn(4),
    failsAt: chance.oneIn(4) ? chance.below(2) : null,
    restarts: chance.below(2),
    beats: chance.pick([25, 60, null]),
    takeovers: chance.oneIn(3) ? 1 : 1_000,
    takeoversOfWorker: chance.oneIn(3) ? 1 : 1_000,
    slowMs: chance.pick([0, 0, 0, 2_000]),
    redrives: chance.child("redrives").below(3),
    liesOneIn: 20,
    failsOneIn: chance.child("failures").pick([0, 0, 3, 8]),
    effect: chance.child("effect").pick(["none", ...EFFECT_NAMES]),
    faultOneIn: chance.pick([25, 60, 200]),
    forkOneIn: chance.child("forks").pick([0, 0, 300, 900]),
    strikeOneIn: chance.pick([40, 150, 600]),
    disturbOneIn: chance.pick([60, 200, 900]),
    wishes: chance.pick([
      ["send", "remove"],
      ["cancel", "remove"],
      ["restart", "remove", "send"],
      ["undo", "pause"],
      ["pause", "remove"],
    ] as const),
    calmStep: 1_500,
  };
}

/** Eight workers under one boss at most, or two to four levels. */
function widthsOf(chance: SeededChoices): readonly number[] {
  const levels = chance.pick([1, 1, 1, 2, 2, 3]);
  if (levels === 1) return [chance.oneIn(3) ? 8 : 1 + chance.below(8)];
  return Array.from({ length: levels }, () => 1 + chance.below(levels === 2 ? 3 : 2));
}

/** The beats that a boss of that level grants each child: enough for all that the child may dispatch in turn. */
export function grantAt(of: Pick<FamilyPlan, "widths" | "isTwice" | "bosses" | "failsOneIn">, level: number): number {
  const below = of.widths[level + 1];
  // Each answer that cannot be used is a beat.
  if (below === undefined) return of.failsOneIn > 0 ? 12 : 4;
  const kind = of.bosses[level + 1] ?? "react";
  const rounds = (of.isTwice ? 2 : 1) * (REPEATING.has(kind) ? 2 : 1);
  return (kind === "react" ? 6 : 24) + rounds * below * grantAt(of, level + 1);
}

/** Without what was added to the plan later: bosses of one topology, no forks, and workers without trouble. */
export const PLAIN: Partial<FamilyPlan> = { bosses: [], forkOneIn: 0, failsOneIn: 0 };
