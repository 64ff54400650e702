/**
 * What lists tell of a run besides the other fields of its row. A list reads rows alone, and a budget or a first signal
 * stands in the state, which is in the object store. So each commit copies these into the row.
 *
 * They are for humans and filters: no decision of the protocol reads them, and no level depends on them. Code that does
 * not know them keeps them as they are, so they may be older than the state until its next commit by newer code.
 */
import type { RunLabels } from "../core/ids.ts";
import type { Grant } from "../core/policy/budget.ts";

export interface RowBrief {
  /** What the run may spend in all, as its last commit knew it. A meter without an entry has no limit. */
  readonly limits: Grant;
  /** The names of the first signals that it gave. A later version may know more names. */
  readonly cracks: readonly string[];
  /** The schedule of its agent started it, by a firing or because an operator asked for it. */
  readonly isScheduled: boolean;
  /** It asks a human: a gate is open, a call waits for an answer, or the outcome of one is unknown. */
  readonly asks?: true;
  /** What the run is about, in one line, from its start on. */
  readonly title?: string;
  /** The key of its start, redacted and cut; absent: its caller gave none. */
  readonly startKey?: string;
  /**
   * The trace that started it: `link` or `parent`, a `traceparent` of the W3C's Trace Context and perhaps a `tracestate`,
   * with a space between them. Written once; absent: it has a trace of its own.
   */
  readonly trace?: string;
  /** As its start gave them, redacted; absent: none. */
  readonly labels?: RunLabels;
}

/** Whether the run may ask a human: for what its last commit told, or whether a restored store repeats what it did. */
export const mayAsk = (row: { readonly brief?: RowBrief; readonly restored?: object }): boolean =>
  row.brief?.asks === true || row.brief === undefined || row.restored !== undefined;
