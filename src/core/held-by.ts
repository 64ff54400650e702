/**
 * What holds an open call, as types: a gate before its release, a child run or a wait after it. Meanwhile no process
 * runs anything for the call. What each of them means for the run is in `calls/held-calls.ts`.
 */
import type { Dispatched } from "./child.ts";
import type { HumanDecision } from "./event.ts";
import type { Wait } from "./wait.ts";

/** A waiting point for a human's approval. */
export interface Gate {
  /** The ID contains the hash of what is approved, so a decision about anything else names no gate (schedule 29). */
  readonly gate: string;
  readonly planHash: string;
  readonly argsHash: string;
  readonly reason: string;
  readonly expiresAt: number;
  /** Without a decision by then a human is asked again, for so many milliseconds. Absent: the gate is denied. */
  readonly asksAgainMs?: number;
  /** The restore of its run since which it was opened; absent: none. */
  readonly restored?: number;
  /** The decision as soon as it is absorbed, or null. */
  readonly decision: HumanDecision | null;
}

/** Closed: a call is held by one thing at a time. */
export type HeldBy =
  | ({ readonly by: "gate" } & Gate)
  | ({ readonly by: "child" } & Dispatched)
  | ({ readonly by: "wait" } & Wait);

/** A hold of one kind. */
export type HeldAs<B extends HeldBy["by"]> = Extract<HeldBy, { readonly by: B }>;
