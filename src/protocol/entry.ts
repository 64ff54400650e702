/**
 * One attempt of one state entry of an execution: the unit that a chain retries, and that a claim names.
 *
 * Retries are numbered in groups. Each failure that the chain catches begins the next group of a thousand; retries that
 * a service makes by itself count on within a group. So the number never falls back to 0 within one entry (schedule
 * 24).
 */
export interface Entry {
  readonly execution: string;
  /** The epoch in its payload. */
  readonly epoch: number;
  readonly retry: number;
}

/** The size of one group of retry numbers. */
export const RETRY_GROUP = 1_000;

/** True if both are attempts of the same state entry. */
export const sameEntry = (one: Entry | null, other: Entry): boolean =>
  one !== null && one.execution === other.execution && one.epoch === other.epoch;

/** True if both are attempts of the same entry and the chain caught no failure between them. */
export const sameGroup = (one: Entry | null, other: Entry): boolean =>
  one !== null &&
  sameEntry(one, other) &&
  Math.floor(one.retry / RETRY_GROUP) === Math.floor(other.retry / RETRY_GROUP);
