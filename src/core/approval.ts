/**
 * What is stored of approvals: gates, what a human decides about one, and the bodies of their events. What follows from
 * them is in `features/approvals`; the gate that asks for more budget is one of them.
 */
import type { Value } from "./message.ts";
import type { BudgetLimits, Grant } from "./policy/budget.ts";

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

/** A human's decision about a gate. */
export interface HumanDecision {
  readonly as: "approve" | "deny" | "edit";
  /** What the run may spend beyond its budget. Only on the gate that asks for more budget. */
  readonly more?: Grant;
  /** The arguments that replace the model's if the call is edited; null otherwise. */
  readonly args: Value | null;
  readonly by: string;
  readonly note: string | null;
}

/** The bodies of the events about gates. */
export interface ApprovalEvents {
  /** A gate: nothing starts until a human approves exactly this plan and these arguments, frozen by their hashes. */
  ApprovalRequested: {
    readonly gate: string;
    readonly call: string;
    readonly planHash: string;
    readonly argsHash: string;
    readonly reason: string;
    /** Epoch milliseconds. Without a decision by then the gate is denied, unless `asksAgainMs` is there. */
    readonly expiresAt: number;
    /** Without a decision a human is asked again, for so many milliseconds. */
    readonly asksAgainMs?: number;
    /** How often the gate of this call was opened again, since the edited arguments did not fit its tool. */
    readonly timesReopened?: number;
    /** The restore of its run since which it is open; absent: none, or an operator said that the services were checked. */
    readonly restored?: number;
    /** The gate asks for more budget, and `call` is `budget`. Its limits so far, and the number of calls that wait. */
    readonly budget?: { readonly limits: BudgetLimits; readonly calls: number };
  };
  HumanApprovalReceived: { readonly gate: string; readonly call: string; readonly decision: HumanDecision };
  /** A decision was delivered but has no effect, since its gate closed before the run could apply it. */
  DecisionIgnored: {
    readonly gate: string;
    readonly as: HumanDecision["as"];
    readonly by: string;
    readonly why: string;
  };
}
