/**
 * What holds an open call, as types: a gate before its release, a child run or a wait after it. Meanwhile no process
 * runs anything for the call. What each of them means for the run is in `calls/held-calls.ts`.
 */
import type { Gate } from "./approval.ts";
import type { Dispatched } from "./child.ts";
import type { Wait } from "./wait.ts";

/** Closed: a call is held by one thing at a time. */
export type HeldBy =
  | ({ readonly by: "gate" } & Gate)
  | ({ readonly by: "child" } & Dispatched)
  | ({ readonly by: "wait" } & Wait);

/** A hold of one kind. */
export type HeldAs<B extends HeldBy["by"]> = Extract<HeldBy, { readonly by: B }>;
