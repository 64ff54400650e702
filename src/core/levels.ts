/**
 * Levels: what a process must know before it may continue a run. Within one format every reader keeps unknown fields,
 * so most additions need no level. A new event, phase, kind of message or meter needs one: older code cannot apply it.
 *
 * The first commit that uses such a feature raises the level of its run, and nothing lowers it. A process with a lower
 * level leaves the run to a newer process. Otherwise it would write a state without the part that it could not read.
 */
import type { Event } from "./event.ts";
import type { State } from "./state.ts";

/** The content of one commit, by which a level sees that the commit uses its feature. */
export interface Written {
  readonly state: State;
  /** The events that this commit adds. */
  readonly events: readonly Event[];
}

export interface Level {
  readonly level: number;
  /** What a process of this level knows in addition, for humans. */
  readonly adds: string;
  readonly isUsedBy: (written: Written) => boolean;
}

/** One line per level, in order. A new feature that older code cannot apply adds the next level. */
export const LEVELS: readonly [Level, ...Level[]] = [
  { level: 1, adds: "everything that format 2 began with", isUsedBy: () => true },
];

/** The level of a row or snapshot that names none. */
export const LOWEST_LEVEL = 1;

/** The level of this code. */
export const LEVEL: number = Math.max(...LEVELS.map(({ level }) => level));

/** The lowest level that can read this commit. */
export const neededLevel = (written: Written, levels: readonly Level[] = LEVELS): number =>
  Math.max(...levels.map(({ level, isUsedBy }) => (isUsedBy(written) ? level : LOWEST_LEVEL)));

/** The level of a stored row or snapshot. It is recorded only where it is above the lowest. */
export const levelIn = ({ level = LOWEST_LEVEL }: { readonly level?: number }): number => level;
