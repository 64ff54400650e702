/**
 * Calls that wait, as types: for a human's answer, for an event that something outside signals, or for a time. Such a
 * call is open like any other, and nothing runs for it meanwhile (`features/waits/core.ts`).
 */
import type { Json } from "./json.ts";
import type { Value } from "./message.ts";

/** What ends the wait besides its limit. */
export type WaitKind = "answer" | "event" | "time";

/** What follows when the limit has passed. `tell`: the call fails, and the model is told. `take`: this is its result. */
export type AtLimit =
  | { readonly kind: "tell" }
  | { readonly kind: "fail" }
  | { readonly kind: "take"; readonly value: Value };

/** An answer or event that came, until the run has judged it. */
export interface ArrivedInput {
  readonly value: Value;
  readonly by: string;
}

/** An event that came while no call waited for it. */
export interface Signal extends ArrivedInput {
  readonly event: string;
}

/** The wait as its call begins it. Times are epoch milliseconds. */
export interface WaitTerms {
  readonly for: WaitKind;
  /** The name of the event. Only where the call waits for one. */
  readonly event?: string;
  /** The limit; null: as long as a run may wait. */
  readonly until: number | null;
  readonly atLimit: AtLimit;
  /** What fits, as JSON Schema, for the one who answers; absent where anything fits or where it is too large. */
  readonly schema?: Json;
}

/** What an open call knows about its wait. */
export interface Wait extends WaitTerms {
  readonly from: number;
  /** The number of the question, from 1: it is asked again where what came does not fit. */
  readonly question: number;
  readonly given?: ArrivedInput;
  /** Why what came last did not fit. */
  readonly refused?: string;
}

/** A human's answer to the question number `question` of a call. */
export interface AnswerGiven extends ArrivedInput {
  readonly kind: "answer";
  readonly call: string;
  readonly question: number;
}

/** An event that something outside signals. */
export interface EventSignalled extends Signal {
  readonly kind: "signal";
}

/** The bodies of the events about waits. */
export interface WaitEvents {
  /** The call waits from the commit of this event on. `epoch`: the invocation that began it. */
  WaitBegun: { readonly call: string; readonly epoch: number; readonly wait: WaitTerms };
  /** What came does not fit the schema of the call's tool, and the call waits on. */
  InputRefused: { readonly call: string; readonly question: number; readonly by: string; readonly why: string };
  /** An answer or event came and has no effect. `name`: the call that the answer names, or the event. */
  InputIgnored: {
    readonly for: "answer" | "event";
    readonly name: string;
    readonly by: string;
    readonly why: string;
  };
}
