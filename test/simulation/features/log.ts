/** What whoever is outside of a history did and saw of its features; checkers compare it with what was committed. */
import type { Placed } from "../record.ts";
import type { MemoryWrite } from "./memory-tools.ts";
import type { WaitInput } from "./wait-people.ts";
import type { Post } from "./webhook-endpoint.ts";

/** A request to a model that left its process. */
export interface ModelCall {
  readonly at: number;
  readonly task: number;
  /** The instructions that it showed. */
  readonly shows: string;
}

export interface FeatureLog {
  readonly inputs: Placed<WaitInput>[];
  inputsDrafted: number;
  /** Nobody looks again before this time at a run of this version, which waits for nothing that they could give it. */
  nothingToGive: { readonly version: number; readonly until: number };
  readonly modelCalls: Placed<ModelCall>[];
  /** The writes of the agent's tools that were acknowledged. */
  readonly written: MemoryWrite[];
  /** How often the fact was changed, and whether somebody is about to. */
  revisions: number;
  isRevising: boolean;
  /** The place in the history from which on there is no cap. */
  capRaised: number;
  isCapNoticed: boolean;
  readonly posts: Post[];
  /** How often the endpoint failed for each notification. */
  readonly failedPosts: Map<string, number>;
}

export const emptyLog = (): FeatureLog => ({
  ...{
    inputs: [],
    inputsDrafted: 0,
    nothingToGive: { version: -1, until: 0 },
    modelCalls: [],
    written: [],
    revisions: 0,
    isRevising: false,
  },
  ...{ capRaised: Infinity, isCapNoticed: false, posts: [], failedPosts: new Map() },
});
