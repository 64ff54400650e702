/**
 * One attempt of one state entry of an execution: the unit that a chain retries, and what a claim is made for.
 *
 * Retries are numbered in groups: each failure that the chain catches begins the next group of a thousand, and retries that
 * a service makes by itself count on within one. So the number never falls back to 0 within one entry (schedule 24).
 */
export interface Entry {
  readonly execution: string;
  /** The epoch in its payload. */
  readonly epoch: number;
  readonly retry: number;
}

export const RETRY_GROUP = 1_000;

export const sameEntry = (one: Entry | null, other: Entry): boolean =>
  one !== null && one.execution === other.execution && one.epoch === other.epoch;

/** Both are attempts of one entry between which the chain caught no failure. */
export const sameGroup = (one: Entry | null, other: Entry): boolean =>
  one !== null &&
  sameEntry(one, other) &&
  Math.floor(one.retry / RETRY_GROUP) === Math.floor(other.retry / RETRY_GROUP);
