/**
 * Levels: what a process must know before it may go on with a run. Within one format every reader keeps the fields that it
 * does not know, so most additions need no level. A new event, phase, kind of message or meter does: older code cannot apply
 * it. The first commit that uses such a feature raises the level of its run, and nothing lowers it. A process whose own
 * level is lower leaves that run to a newer one, which prevents that it writes a state without what it could not read.
 */
import type { Event } from "./event.ts";
import type { State } from "./state.ts";

/** What a commit writes. */
export interface Written {
  readonly state: State;
  /** The events that this commit adds. */
  readonly events: readonly Event[];
}

export interface Level {
  readonly level: number;
  /** What a process of this level knows besides, for people. */
  readonly adds: string;
  readonly isUsedBy: (written: Written) => boolean;
}

/** One line for each level, in order. A new feature that older code cannot apply adds the next one. */
export const LEVELS: readonly [Level, ...Level[]] = [
  { level: 1, adds: "everything that format 1 began with", isUsedBy: () => true },
];

/** The level of a row or snapshot that names none. */
export const LOWEST_LEVEL = 1;

/** What this code knows. */
export const LEVEL: number = Math.max(...LEVELS.map(({ level }) => level));

/** The lowest level that reads what is written. */
export const neededLevel = (written: Written, levels: readonly Level[] = LEVELS): number =>
  Math.max(...levels.map(({ level, isUsedBy }) => (isUsedBy(written) ? level : LOWEST_LEVEL)));

/** The level of something stored, as it is told where it is above the lowest. */
export const levelIn = ({ level = LOWEST_LEVEL }: { readonly level?: number }): number => level;
