/**
 * DeltaLog: what a model is saying at this moment, beside the log of a run and outside of its row. It is written only
 * while a reader is attached. Nothing depends on it: a run whose deltas are lost is the same run. The contract:
 *
 * - A *step* is one model call of one invocation. Its deltas have sequence numbers from 1, without a gap.
 * - `append` stores one delta under its step and number. Sending it again changes nothing.
 * - A world may remove the deltas of a step once a later step of the same incarnation has one, and any delta `keptMs`
 *   after its time. A delta that old is absent for every read, deleted or not.
 * - A marker says until when a reader is attached to a run. It belongs to the run's ID, so that a reader can attach before
 *   the run is started. A later time replaces an earlier one, never the other way round.
 * - No read is consistent: it may lag a moment behind.
 * - Every operation rejects only with `StoreUnreachable`.
 */
import type { Incarnation } from "../protocol/row.ts";
import type { ModelStep } from "../protocol/step.ts";

/** A piece of one part of the reply. Pieces with the same `index` belong together, in the order of their deltas. */
export interface DeltaPart {
  /** `call`: the arguments of a tool call, as JSON text. */
  readonly kind: "text" | "reasoning" | "call";
  /** Which part of the reply, from 0. */
  readonly index: number;
  /** The tool of a call. */
  readonly tool?: string;
  readonly text: string;
}

/** The same as the provider says it. */
export interface Piece extends DeltaPart {
  /** The provider has ended the part: no more of it comes. */
  readonly isLast?: true;
}

/** What one write added to a step. */
export interface Delta extends ModelStep {
  /** From 1 in each step. */
  readonly seq: number;
  /** When it was written, epoch milliseconds. */
  readonly at: number;
  readonly parts: readonly DeltaPart[];
  /** The last delta of its step, although the model said more: the rest comes with the reply. */
  readonly isCut?: true;
}

/** The place behind a delta. Deltas are ordered by epoch, then by version, then by number. */
export type DeltaPlace = Pick<Delta, "epoch" | "version" | "seq">;

export interface DeltaLog {
  /** How often it is written and read. */
  readonly pace: DeltaPace;
  /** A reader is attached to the run until that time, epoch milliseconds. */
  attach(reader: { readonly run: string; readonly until: number }): Promise<void>;
  /** Until when a reader is attached; null: none is at `now`. */
  attachedUntil(query: { readonly run: string; readonly now: number }): Promise<number | null>;
  append(incarnation: Incarnation, delta: Delta): Promise<void>;
  /** The deltas behind that place, in order, at most `limit`. */
  read(
    query: Incarnation & { readonly after: DeltaPlace; readonly limit: number; readonly now: number },
  ): Promise<readonly Delta[]>;
  /** Removes all deltas of that incarnation, and the marker of its run. */
  forget(incarnation: Incarnation): Promise<void>;
}

/** What a world asks of those who write and read. Each write and each read has a price, or takes time from others. */
export interface DeltaPace {
  /** The shortest time between two writes of one run. */
  readonly writeMs: number;
  /** The pause between two looks of a reader at a run that is at work. It looks at any other run each `QUIET_LOOK_MS`. */
  readonly lookMs: number;
}

/** How often a reader looks at a run that waits, paused or has ended. */
export const QUIET_LOOK_MS = 500;

/** For a store where each request has a price. */
export const PACE_OF_SERVICE: DeltaPace = { writeMs: 1_000, lookMs: QUIET_LOOK_MS };

/**
 * For a store in a file of the same machine: a reader sees the first words within 150 ms. A write does not wait for the disk,
 * and a look takes some microseconds.
 */
export const PACE_OF_FILE: DeltaPace = { writeMs: 100, lookMs: 50 };

/** The other times and the sizes of deltas. */
export const DELTAS = {
  /** How long a reader stays attached after each time that it reads. */
  attachedMs: 30_000,
  /** A reader that is attached for at least this long is not attached again. */
  renewMs: 15_000,
  /** How long a delta may be read. */
  keptMs: 15 * 60_000,
  /** How much of one step is streamed. The reply has the rest. */
  stepCharactersMax: 64 * 1024,
  /** How long a model call waits for the log to say whether a reader is attached. */
  lookMs: 100,
  /** After so many writes in a row that failed, the rest of a step is not streamed. */
  failuresMax: 3,
  /** How many deltas one read gives. */
  readMax: 100,
} as const;

/** Whether `one` is behind `other`. */
export const isBehind = (one: DeltaPlace, other: DeltaPlace): boolean =>
  one.epoch !== other.epoch
    ? one.epoch > other.epoch
    : one.version !== other.version
      ? one.version > other.version
      : one.seq > other.seq;

export const isDeltaExpired = ({ at }: Pick<Delta, "at">, now: number): boolean => at + DELTAS.keptMs <= now;
