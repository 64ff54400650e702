/**
 * A step: one model call of one invocation, and what became of it. The row and the next commit decide that, so a reader
 * shows streamed text as open, replaces it by the reply, or drops it as lost.
 *
 * Schedule 182: a process streams half a reply and dies. The next invocation calls the model again. A reader that joined
 * both texts would show words that no reply has.
 */
export interface ModelStep {
  /** The epoch of the invocation. */
  readonly epoch: number;
  /**
   * The version of the run when the call left. Each call leaves under a mark that a commit or the claim made, so no two
   * calls of an invocation have the same. An invocation commits nothing during a model call.
   */
  readonly version: number;
}

/** `open`: a reply may still come. `replied`: the reply is committed. `lost`: there will be no reply. */
export type StepFate = "open" | "replied" | "lost";

/** What the fate of a step depends on. */
export interface StepEvidence {
  readonly row: { readonly epoch: number; readonly version: number; readonly hasEnded: boolean };
  /** The commit after the version of the step; null if there is none, or if the reader has not read it. */
  readonly next: { readonly epoch: number; readonly hasReply: boolean } | null;
}

/** A commit of another epoch, or one without a reply, ends the step for good: an invocation waits for its model call. */
export function fateOf(step: ModelStep, { row, next }: StepEvidence): StepFate {
  if (row.version <= step.version) return row.epoch === step.epoch && !row.hasEnded ? "open" : "lost";
  return next !== null && next.epoch === step.epoch && next.hasReply ? "replied" : "lost";
}
