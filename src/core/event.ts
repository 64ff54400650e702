/**
 * Events: a closed, public vocabulary. The state of a run is the fold of its events, and nothing else changes it.
 */
import type { Grant, Limits, Spent } from "./policy/budget.ts";
import type { Json } from "./json.ts";
import type { Value } from "./message.ts";
import type { Price } from "./policy/price.ts";
import type { Effect } from "./calls/effects.ts";
import type { Phase } from "./phases.ts";

export type ReplyPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string; readonly provider: Json }
  | { readonly kind: "call"; readonly tool: string; readonly args: Value; readonly provider: Json };

/** `prematureStop`: the model says that it is done while a check of its definition of done fails. */
export type Crack = "runaway" | "oscillation" | "prematureStop";

/**
 * A person's answer about a call whose outcome is unknown. `failed` says that it did not happen, `compensate` that
 * whatever the run did is to be undone, that call as well.
 */
export interface Answer {
  readonly as: "succeeded" | "failed" | "retry" | "compensate";
  /** The result, when it succeeded; null otherwise. */
  readonly value: Value | null;
  readonly by: string;
  readonly note: string | null;
}

/**
 * What becomes of a call whose outcome stays unknown: a person is asked, the model is told, the run fails, or everything
 * is undone and the run starts again if it may.
 */
export type OnUnknown = "ask" | "tell" | "fail" | "compensate";

/** What a person decides about a gate. */
export interface Decision {
  readonly as: "approve" | "deny" | "edit";
  /** What the run may spend beyond its budget, where that is what was asked. */
  readonly more?: Grant;
  /** What the call shall be run with instead, if it is edited; null otherwise. */
  readonly args: Value | null;
  readonly by: string;
  readonly note: string | null;
}

/** What a message carries. */
export type MessageBody =
  | { readonly kind: "decision"; readonly gate: string; readonly decision: Decision }
  /** How a child run ended, and what it came to. */
  | {
      readonly kind: "child";
      readonly child: string;
      readonly status: "completed" | "failed" | "cancelled";
      readonly value: Value;
    }
  | {
      readonly kind: "reconcile";
      readonly call: string;
      /** The question that it answers: a call can become unknown more than once. */
      readonly asked: number;
      readonly answer: Answer;
    }
  /** Somebody lets a pinned run go on under version `to`. `asked`: the question that it answers. */
  | { readonly kind: "upgrade"; readonly asked: number; readonly to: string; readonly by: string }
  /** Who is to look at the run. `asked`: the how many-th time that somebody said so. */
  | { readonly kind: "assign"; readonly asked: number; readonly to: string; readonly by: string }
  /** What the run did is to be undone, before it is cancelled or so that it starts again. */
  | { readonly kind: "compensate"; readonly next: "cancel" | "restart"; readonly by: string }
  /** Words for the model. */
  | { readonly kind: "user"; readonly text: string; readonly by: string };

export interface Failure {
  /** Stable, for programs. */
  readonly code: string;
  readonly message: string;
}

interface Bodies {
  RunStarted: { readonly agentVersion: string };
  /** `by`: who accepted it, where the run was pinned to the version before. */
  AgentChanged: { readonly from: string; readonly to: string; readonly by?: string; readonly price?: Price };
  ModelCallCompleted: {
    readonly model: string;
    readonly parts: readonly ReplyPart[];
    readonly finish: string;
    readonly tokensIn: number;
    readonly tokensOut: number;
    readonly tookMs: number;
    /** Its question was nearly as long as the agent allows. */
    readonly crowded?: true;
    /** What was asked, by digests (`agent/request.ts`). Absent: nobody kept them yet. */
    readonly request?: { readonly instructions: string; readonly tools: readonly string[]; readonly messages: string };
  };
  /** Model calls that may have been made and whose replies are lost: their process died, or the deadline cut them off. */
  ModelCallLost: {
    readonly calls: number;
    readonly why: string;
    /** It may have been the closing call of the run, which is made once. */
    readonly closing?: true;
  };
  BudgetDebited: { readonly debit: Partial<Spent>; readonly for: string };
  /** From here on the model is shown what `lead` names in place of the messages before `from`, which stay where they are. */
  Compacted: {
    readonly summary: string;
    readonly tokens: number;
    readonly window: { readonly from: number; readonly lead: readonly string[] };
    readonly replaced: {
      readonly from: string;
      readonly to: string;
      readonly messages: number;
      readonly digest: string;
    };
    readonly why: string;
  };
  ToolIntended: {
    readonly call: string;
    readonly effect: Effect;
    readonly key: string;
    readonly argsDigest: string;
    /** The key is the agent's own. */
    readonly business?: true;
    /** Its tool can undo it. */
    readonly undo?: true;
    /** It runs alone, after those before it in its reply and before those after it. */
    readonly alone?: true;
  };
  /** Nothing is started before a person decides about exactly this: the plan and the arguments are frozen by their hashes. */
  ApprovalRequested: {
    readonly gate: string;
    readonly call: string;
    readonly planHash: string;
    readonly argsHash: string;
    readonly reason: string;
    /** No decision by then is a denial. */
    readonly expiresAt: number;
    /** How often the same call was asked about before: the arguments of each decision so far did not fit its tool. */
    readonly again?: number;
    /** It is about the budget, and `call` is `budget`: what the limits were, and how many calls wait to be released. */
    readonly budget?: { readonly limits: Limits; readonly calls: number };
  };
  HumanApprovalReceived: { readonly gate: string; readonly call: string; readonly decision: Decision };
  /** A decision was delivered and has no effect, since its gate was closed before it could be applied. */
  DecisionIgnored: {
    readonly gate: string;
    readonly as: Decision["as"];
    readonly by: string;
    readonly why: string;
  };
  /** The commit of this event released the call to be started by the invocation of `epoch`. */
  ToolInvoked: { readonly call: string; readonly epoch: number };
  ToolResultRecorded: {
    readonly call: string;
    readonly outcome: "succeeded" | "failed";
    readonly value: Value;
    readonly externalId: string | null;
    readonly evidence: string;
  };
  /** An undo succeeded; the call is that of the undo. What undoes without success is a result like any other. */
  ToolCompensated: { readonly call: string; readonly value: Value; readonly evidence: string };
  /** `askFrom`: when a person can first tell that it did not happen; null: nobody is asked, the model is told. */
  ToolOutcomeUnknown: {
    readonly call: string;
    readonly why: string;
    readonly askFrom: number | null;
    /** The agent has no tool that could go on with it; a later version may have it again. */
    readonly toolGone?: boolean;
    /** Nobody needs to answer: what follows at `askFrom`. Absent: ask. */
    readonly otherwise?: OnUnknown;
  };
  /** `evidence`: what the other side said by itself, without being asked. */
  ToolResultReconciled: {
    readonly call: string;
    readonly answer: Answer;
    readonly evidence?: string;
    readonly externalId?: string;
  };
  /** `taken`: its content is in the state. `cleared`: its item is deleted, so its id may leave the state. */
  MessageAbsorbed:
    | { readonly stage: "taken"; readonly message: string; readonly body: MessageBody }
    | { readonly stage: "cleared"; readonly message: string };
  /** From here on the end of this run waits until the child has been told. */
  ChildStarted: { readonly child: string };
  RunPaused: object;
  RunResumed: object;
  CheckFailed: { readonly check: string; readonly why: string };
  /** The first sign of a failure that is typical of agents. What follows, the recovery table decides. */
  CrackSignalled: { readonly crack: Crack; readonly why: string };
  RecoveryDecided: { readonly rule: string; readonly why: string; readonly action: Action };
  /** `from`: where the run stood, if it may be redriven; absent: it may not. */
  RunEnded:
    | { readonly status: "completed"; readonly result: Value }
    | { readonly status: "failed"; readonly failure: Failure; readonly from?: FailedFrom }
    | { readonly status: "cancelled" };
  /** A failed run goes on, since somebody wants it. */
  RunRedriven: {
    readonly id: string;
    readonly by: string;
    readonly why: string;
    readonly failure: Failure;
  };
}

export type EventKind = keyof Bodies;

/** One event: when it happened (epoch milliseconds) and what. */
export type Event = { readonly [K in EventKind]: EventOf<K> }[EventKind];
export type EventOf<K extends EventKind> = { readonly kind: K; readonly at: number } & Bodies[K];

/** What one commit added: `version` is the number that this commit made the run's. */
export interface CommitRecord {
  readonly version: number;
  readonly epoch: number;
  readonly events: readonly Event[];
}

export type Action =
  /** Ask the model again, not before `at`. `outage`: what is known of its provider; absent in what older code wrote. */
  | { readonly kind: "retry"; readonly at: number; readonly outage?: Outage }
  /** Have a summary made, then ask the model. */
  | { readonly kind: "compact" }
  /** Say something to the model and go on. */
  | { readonly kind: "nudge"; readonly say: string }
  /** Ask the model for its last words, then end the run. */
  | { readonly kind: "stop"; readonly failure: Failure; readonly say: string }
  /** End the run. What it did is undone before, and it may start again, unless `next` says otherwise. */
  | { readonly kind: "abort"; readonly failure: Failure; readonly next?: "end" | "leave" }
  /** Undo what was done, in reverse: nothing else is started from here on. */
  | { readonly kind: "compensate" }
  /** Undo the effect of that call, which is the newest one that stands. */
  | { readonly kind: "undo"; readonly call: string }
  /** Begin again from the task, under other keys. */
  | { readonly kind: "restart"; readonly say: string }
  /** Run the call again with its key. */
  | { readonly kind: "again"; readonly call: string }
  /** Ask the other side, not before `at`, whether the call happened. `tried`: a try of it ended without an answer. */
  | { readonly kind: "probe"; readonly call: string; readonly at: number; readonly tried: boolean }
  /** Nothing is called before that version of the agent is accepted; null: before its agent can be loaded. */
  | { readonly kind: "hold"; readonly to: string | null }
  /** The agent has the tool of that call again: what is open is decided by the resume table. */
  | { readonly kind: "toolBack"; readonly call: string }
  /** The outcome of the call stays unknown, and the model is told so. */
  | { readonly kind: "tell"; readonly call: string }
  /** End the run because somebody wants it. */
  | { readonly kind: "cancel" }
  /** Another invocation held the run and is gone: go on from the last checkpoint. */
  | { readonly kind: "takeover"; readonly from: string; readonly takeovers: number };

/** Where a run stood when it failed. */
export interface FailedFrom {
  readonly phase: Phase;
  /** Calls that its end called unknown only because nothing could be found out about them any more. */
  readonly started: readonly string[];
}

/** A model's provider gives no answers. */
export interface Outage {
  /** When the first call of it failed. */
  readonly since: number;
  /** How many calls failed since. */
  readonly tries: number;
  /** A provider asked not to be asked before then (`retry-after`). */
  readonly notBefore?: number;
  /** Which model is asked next: 1 is the agent's first fallback. Absent: its own model. */
  readonly model?: number;
  /** The operator was told. */
  readonly alarmed?: true;
}
