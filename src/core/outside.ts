/**
 * What a run did outside, as types. A hand-off that fails is made again only if its child did nothing outside, so a child
 * reports this with its end, whatever that end is.
 */

/** A call that changed something outside, or may have. */
export interface OutsideCall {
  /** The run whose call it is. Absent: the run that lists it. */
  readonly run?: string;
  readonly call: string;
  readonly tool: string;
  /** Its idempotency key. Empty: it is a child run that gave no report. */
  readonly key: string;
  readonly outcome: "succeeded" | "unknown" | "undone";
}

/** Present once a call that acts outside was released. `calls` is empty if none of them happened. */
export interface OutsideWork {
  /** Unknown outcomes come first, since only so many calls are listed. */
  readonly calls: readonly OutsideCall[];
  /** How many calls besides are not listed. */
  readonly more?: number;
  /** When the requests of the unknown ones have landed, in epoch milliseconds, as far as their run knows it. */
  readonly settlesAt?: number;
}
