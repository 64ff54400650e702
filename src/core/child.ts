/**
 * Child runs, as types: runs that a run dispatches by a call of a child tool. The entry of a child stands in the state
 * of its parent from the commit that decides to make it until its end is absorbed (`features/children/core.ts`).
 */
import type { Json } from "./json.ts";
import type { Grant, Spent } from "./policy/budget.ts";
import type { Value } from "./message.ts";
import type { OutsideWork } from "./outside.ts";

/** A child whose end the parent has not absorbed. */
export interface Child {
  /** The run ID of the child. It derives from the parent's incarnation, the restart number, the call and the try. */
  readonly id: string;
  /** The call that waits for the child. */
  readonly call: string;
  /** Which try of that call this child is, from 1. */
  readonly try: number;
  readonly agent: string;
  /** What the parent reserves for the child until its report. */
  readonly grant: Grant;
  /** When the child is too late, in epoch milliseconds; null: never. */
  readonly deadline: number | null;
  /** It was too late: its answer is not taken, and what it spends still counts. */
  readonly superseded: boolean;
  /** It missed its deadline and was asked to stop, and its call waits for its end: only that says what it did. */
  readonly late?: true;
  /** Its row exists, and its execution was started. */
  readonly made?: true;
  /** It was asked to stop. */
  readonly askedToStop?: true;
  /** How often its parent has asked for it, with the creation; absent: once. */
  readonly dispatch?: number;
  /** The decision to go on with it is made, and it has not been taken from its process. */
  readonly isContinuing?: true;
  /** How many messages it had then. A child that has no more by its next deadline has made no progress. */
  readonly messages?: number;
  /** Until when an earlier request of it may land. It may be waiting for that before it probes. */
  readonly settlesAt?: number;
  /** It works without a parent: nothing waits for it, and its grant was spent when it was dispatched. */
  readonly left?: true;
}

/**
 * What the parent of a run takes for its answer, as the run knows it. A hand-off with effects is made by one child only,
 * so the child learns what is wrong with its answer before it ends (`features/children/expected-answer.ts`).
 */
export interface ExpectedAnswer {
  /** A JSON Schema that each answer fits which its parent takes; absent: its parent alone can tell. */
  readonly schema?: Json;
  /** An answer that repeats the task is none that was lost. */
  readonly mayEcho?: true;
  /** How often the run may come to an end, by an answer or a failure. Its parent judges the last one. */
  readonly tries: number;
  /** After how many of them it went on instead, once it had acted outside; absent: none. */
  readonly returned?: number;
  /** The newest of these ends; absent: none. */
  readonly after?: EndBefore;
}

/** An answer or a failure after which a run went on. */
interface EndBefore {
  /** The code is stable, for programs. */
  readonly failure: { readonly code: string; readonly message: string };
  /** How many messages of others than cairn the run had when it failed; absent after an answer. */
  readonly messages?: number;
}

/** What an open call of a child tool knows about its newest child. */
export interface Dispatched {
  /** The newest try. */
  readonly try: number;
  /** How the child ended, until the result of the call is recorded. */
  readonly report?: ChildEnd;
  /** The child was too late, or was never made: the call waits for no child. */
  readonly over?: true;
  /** The child missed its deadline, and the call waits for its end. */
  readonly late?: true;
  /** How often a child of the call missed its deadline, and went on as the same child; absent: never. */
  readonly continued?: number;
}

/** How a child ended, and its result or failure. */
export interface ChildEnd {
  readonly status: "completed" | "failed" | "cancelled";
  readonly value: Value;
}

/** The message in which a child reports its end. Its message ID derives from the child, so it is delivered once. */
export interface ChildReport extends ChildEnd {
  readonly kind: "child";
  readonly child: string;
  readonly spent: Spent;
  /** What it did outside; absent: it released nothing but calls of class `none`. */
  readonly outside?: OutsideWork;
}

/** The bodies of the events about children. */
export interface ChildEvents {
  /**
   * The decision to make a child, before it is made: intent, entry and reservation in one commit. `epoch`: the
   * invocation that may make it.
   */
  ChildDispatched: Pick<Child, "call" | "try" | "agent" | "grant" | "deadline" | "left"> & {
    readonly child: string;
    readonly epoch: number;
  };
  /** The child exists, and its execution was started. */
  ChildStarted: { readonly child: string };
  /**
   * The child missed its deadline. Its entry and its reservation stay until it reports. `awaited`: so does the wait of
   * its call, since the child may act outside until it ends.
   */
  ChildSuperseded: { readonly call: string; readonly child: string; readonly why: string; readonly awaited?: true };
  /**
   * The child missed its deadline, and is to go on as the same run: it is taken from the process that holds it. Decided
   * before that is done. `dispatch`: the number of that request.
   */
  ChildContinued: Required<Pick<Child, "call" | "dispatch" | "messages">> &
    Pick<Child, "settlesAt"> & { readonly child: string; readonly deadline: number; readonly why: string };
  /** The child was taken from that process, or had ended, and nothing is owed to it. */
  ChildResumed: { readonly child: string };
  /** The child was asked to stop. */
  ChildAskedToStop: { readonly child: string };
  /** The child was never made, and can not be made any more. */
  ChildNeverMade: { readonly call: string; readonly child: string };
}
