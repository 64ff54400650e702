/**
 * Reading in turns: how a process that also does something else for others reads long histories. A store in a file
 * answers at once, and so does all that a reader makes of its answers. So without turns one reader of a long run keeps
 * each other reader, and the supervisor in the same process, from their work until it has all of it.
 */
import type { Event } from "../core/event.ts";
import type { Row } from "../protocol/row.ts";

/** One event with the commit that made it durable. */
export type CommittedEvent = { readonly version: number; readonly epoch: number } & Event;

/** Which events of a run a reader asks for. */
export interface EventPlace {
  /** The version of the last commit that the reader has. */
  readonly after: number;
  /** Leaves out the events before this one, counted from 0 over the whole run; null: none. */
  readonly startIndex: number | null;
  /** The most events, except that there is at least one commit. */
  readonly eventsMax: number;
}

/** Events of whole commits, oldest first. */
export interface EventPart {
  readonly entries: readonly CommittedEvent[];
  /** There are more events behind these. */
  readonly more: boolean;
}

export interface ReadingInTurns {
  /** Resolves in a turn of the event loop in which the caller may handle one part of what it reads. */
  readonly turn: () => Promise<void>;
  /** The events of the run of `row` from a place on. It handles one stored part in a turn. Throws `Unreadable`. */
  readonly eventsAfter: (row: Row, place: EventPlace) => Promise<EventPart>;
}

/** The most events that are handled in one turn, beyond those of one commit or one stored part. */
export const EVENTS_PER_TURN = 500;
