/**
 * ReAct: the model plans one step at a time, sees its results, and stops when it has no more calls to make. Its typical
 * failure is a runaway (seed 4). `maxBeats` prevents it, and beats before a crash count as well.
 */
export interface Topology {
  readonly kind: "react";
  /** The most beats (model replies) of one run, across crashes. */
  readonly maxBeats: number;
}

/** The topology of an agent that loops over model and tools. `maxBeats` is a positive whole number. */
export const react = (options: { readonly maxBeats: number }): Topology => ({ kind: "react", ...options });
