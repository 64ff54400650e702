/** The agent's own model for summaries failed since the last reply of a model. */
export interface FailedSummaries {
  /** How many of its calls failed. */
  readonly attempts: number;
  /** It is not called again: the working model writes the summary. */
  readonly isLeft?: true;
}
