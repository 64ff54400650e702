/** What a model request contained, by digests (`engine/model/request-digests.ts`). */
export interface RequestDigests {
  readonly instructions: string;
  /** Absent where the agent sets none. */
  readonly options?: string;
  readonly tools: readonly string[];
  readonly messages: string;
}
