/**
 * Summaries of results that are too long to show: what events say about them. A summary is a message of the transcript,
 * after the result that it stands beside. The result stays as it is.
 */
import type { Routed } from "./routed.ts";

/** What a summary was made of. */
export interface ResultManifest {
  /** Of the stored value. */
  readonly bytes: number;
  readonly sha256: string;
  /** The length of its text, and how many characters from its beginning the model read. */
  readonly characters: number;
  readonly read: number;
}

/** The bodies of the events about summaries of results. */
export interface ResultSummaryEvents {
  /** The model sees this text after the result of the call: a summary, or why there is none. */
  ResultSummarised: {
    readonly call: string;
    readonly manifest: ResultManifest;
    readonly summary: string;
    /** The model that replied; absent if none did. */
    readonly model?: string;
    readonly routed?: Routed;
    readonly tokens: number;
    /** The text says why there is no summary. */
    readonly failed?: true;
  };
}
