/**
 * Events: the closed, public vocabulary of a run. The state of a run is the fold of its events, and nothing else
 * changes the state.
 */
import type { ChangedIntrinsic } from "./changed-intrinsic.ts";
import type { FailedSummaries } from "./failed-summaries.ts";
import type { ChildEvents, ChildReport } from "./child.ts";
import type { ForkedFrom } from "./forked-from.ts";
import type { ApprovalEvents, HumanDecision } from "./approval.ts";
import type { Spent } from "./policy/budget.ts";
import type { FileRef, WithFiles } from "./file.ts";
import type { Json } from "./json.ts";
import type { ChoiceEvents } from "./choice.ts";
import type { LeftOutEvents } from "./left-out.ts";
import type { MemoryEvents } from "./memory.ts";
import type { Value } from "./message.ts";
import type { ParsedArgs } from "./parsed-args.ts";
import type { Mends } from "./policy/mends.ts";
import type { Price } from "./policy/price.ts";
import type { Effect } from "./calls/effects.ts";
import type { Deadline } from "./deadline.ts";
import type { FailedFrom } from "./failed-from.ts";
import type { DetachedCallEvents } from "./detached-call.ts";
import type { RequestDigests } from "./request-digests.ts";
import type { ResultSummaryEvents } from "./result-summary.ts";
import type { Routed } from "./routed.ts";
import type { TopologyEvents } from "./topologies/events.ts";
import type { AnswerGiven, EventSignalled, WaitEvents } from "./wait.ts";

/** One part of a model's reply. `provider` is opaque metadata of the provider that cairn returns unchanged. */
export type ReplyPart =
  | { readonly kind: "text"; readonly text: string }
  /** A file that the model made. */
  | FileRef
  | { readonly kind: "reasoning"; readonly text: string; readonly provider: Json }
  | { readonly kind: "call"; readonly tool: string; readonly args: Value; readonly provider: Json };

/** A reply that a limit cut, as its event says. */
export interface CutMark {
  /** The limit, in the word of the provider. */
  readonly limit: string;
  /** The number of calls that it proposed, whole or not. None of them runs. */
  readonly calls: number;
}

/**
 * How a human reconciles a call whose outcome is unknown. `failed`: the call did not happen. `compensate`: everything
 * that the run did is compensated, including this call.
 */
export interface Answer extends WithFiles {
  readonly as: "succeeded" | "failed" | "retry" | "compensate";
  /** The result, when it succeeded; null otherwise. */
  readonly value: Value | null;
  readonly by: string;
  readonly note: string | null;
}

/**
 * What follows when the outcome of a call stays unknown. `ask`: a human reconciles it. `tell`: the model learns that
 * the outcome is unknown. `fail`: the run fails. `compensate`: the run compensates, and restarts if it may.
 */
export type OnUnknown = "ask" | "tell" | "fail" | "compensate";

/** The content of an inbox message. */
export type MessageBody =
  | { readonly kind: "decision"; readonly gate: string; readonly decision: HumanDecision }
  | ChildReport
  | AnswerGiven
  | EventSignalled
  | {
      readonly kind: "reconcile";
      readonly call: string;
      /** The number of the question that it answers: a call can become unknown more than once. */
      readonly question: number;
      readonly answer: Answer;
    }
  /** An operator accepts version `to` for a pinned run. `question`: the number of the question that it answers. */
  | { readonly kind: "upgrade"; readonly question: number; readonly to: string; readonly by: string }
  /** The operator who is responsible for the run. `number`: the number of this assignment; the highest counts. */
  | { readonly kind: "assign"; readonly number: number; readonly to: string; readonly by: string }
  /** Compensate what the run did, before it is cancelled or before it restarts. */
  | { readonly kind: "compensate"; readonly next: "cancel" | "restart"; readonly by: string }
  /** A text for the model. */
  | { readonly kind: "user"; readonly text: string; readonly by: string }
  /** A text for the model, with files. It has a kind of its own, so that a text without files stays as it is. */
  | {
      readonly kind: "userFiles";
      readonly text: string;
      readonly by: string;
      readonly files: readonly FileRef[];
    };

/** Why a run failed. */
export interface Failure {
  /** Stable, for programs. */
  readonly code: string;
  readonly message: string;
}

/** A failure that comes again and again until an operator has mended its cause. */
export interface ToMend {
  readonly mends: Mends;
  readonly failure: Failure;
}

/** The bodies of the events about redrives. */
export interface RedriveEvents {
  /** An operator redrove a failed run, so it goes on. */
  RunRedriven: {
    readonly id: string;
    readonly by: string;
    readonly why: string;
    readonly failure: Failure;
  };
}

/** The bodies of the events of features. Their rules are in `src/features`; what is stored is the kernel's. */
export interface FeatureBodies
  extends
    ApprovalEvents,
    ChildEvents,
    DetachedCallEvents,
    MemoryEvents,
    RedriveEvents,
    ResultSummaryEvents,
    WaitEvents {}

interface Bodies extends FeatureBodies, ChoiceEvents, LeftOutEvents, TopologyEvents {
  RunStarted: {
    readonly agentVersion: string;
    readonly deadline?: Deadline;
    /** The run is a fork. Its own calls are counted after those of the run that it was forked from. */
    readonly forked?: ForkedFrom;
  };
  /** `by`: who accepted the version. Present where the run was pinned to the version before. */
  AgentChanged: { readonly from: string; readonly to: string; readonly by?: string; readonly price?: Price };
  ModelCallCompleted: {
    readonly model: string;
    readonly parts: readonly ReplyPart[];
    readonly finish: string;
    /** A limit cut the reply: it plans nothing, and its calls are left out. Absent: the reply is whole. */
    readonly cut?: CutMark;
    readonly tokensIn: number;
    readonly tokensOut: number;
    readonly tookMs: number;
    /** Absent: it is the agent's own model. */
    readonly routed?: Routed;
    /** The request was nearly as long as the agent allows. */
    readonly nearLimit?: true;
    /** Absent where no model was called: a conversation that ends repeats its last answer. */
    readonly request?: RequestDigests;
  };
  /** Model calls that may have been made and whose replies are lost: the process died, or the deadline cut them off. */
  ModelCallLost: {
    readonly calls: number;
    readonly why: string;
    /** The lost call may have been the closing call, which a run makes once. */
    readonly closing?: true;
  };
  /** `child`: a child run spent it, or may have. */
  BudgetDebited: { readonly debit: Partial<Spent>; readonly for: string; readonly child?: string };
  /** The model sees the messages of `lead` instead of those before `from`. The transcript keeps them all. */
  Compacted: {
    readonly model?: string;
    readonly routed?: Routed;
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
    /** Of the arguments as the model proposed them, or as a human set them. */
    readonly argsDigest: string;
    /** What the schema of the tool made of them. Absent: the same. For a child tool: the task of the child. */
    readonly parsed?: ParsedArgs;
    /** The agent computed the idempotency key itself. */
    readonly business?: true;
    /** The tool has an `undo` function. */
    readonly undo?: true;
    /** The call runs alone: after the calls before it in its reply, and before the calls after it. */
    readonly alone?: true;
  };
  /** Its commit releases the call: `epoch` may start it. `before`: what its tool read outside before, for its probe. */
  ToolInvoked: {
    readonly call: string;
    readonly epoch: number;
    readonly before?: Json;
    /** When its run was restored from a backup: it may repeat, under a new key, what the run did in the lost time. */
    readonly restored?: number;
  };
  ToolResultRecorded: {
    readonly call: string;
    readonly outcome: "succeeded" | "failed";
    readonly value: Value;
    readonly externalId: string | null;
    readonly evidence: string;
    /** The files that the call returned; absent without any. */
    readonly files?: readonly FileRef[];
  };
  /** An undo succeeded; `call` is the call of the undo. An undo that fails is a `ToolResultRecorded`. */
  ToolCompensated: { readonly call: string; readonly value: Value; readonly evidence: string };
  /** `reconcilableFrom`: the earliest time at which a human can know that it did not happen. Null: the model is told. */
  ToolOutcomeUnknown: {
    readonly call: string;
    readonly why: string;
    readonly reconcilableFrom: number | null;
    /** The agent has no tool for this call any more. A later version may have it again. */
    readonly toolGone?: boolean;
    /** What follows at `reconcilableFrom` without a human's answer. Absent: `ask`, so only a human can settle it. */
    readonly onUnknown?: OnUnknown;
    /** It is known not to have begun: no beat could start it, and an operator decides what follows. */
    readonly unbegun?: true;
    /** When its run was restored from a backup: it did not begin since, and may have happened before. */
    readonly restored?: number;
    /** Why its tool needs approval, where one question asks about that as well: the answer `retry` approves it. */
    readonly approval?: string;
  };
  /** `evidence`: what the external service reported on its own initiative, for example by a webhook. */
  ToolResultReconciled: {
    readonly call: string;
    readonly answer: Answer;
    readonly evidence?: string;
    readonly externalId?: string;
  };
  /** `taken`: the content is in the state. `cleared`: the inbox item is deleted, so its ID may leave the state. */
  MessageAbsorbed:
    | { readonly stage: "taken"; readonly message: string; readonly body: MessageBody }
    | { readonly stage: "cleared"; readonly message: string };
  RunPaused: object;
  RunResumed: object;
  /** `isAnswer`: what does not hold is the answer to the parent of the run. */
  CheckFailed: { readonly check: string; readonly why: string; readonly isAnswer?: true };
  RecoveryDecided: { readonly rule: string; readonly why: string; readonly action: Action };
  /** `from`: where the run stood. Absent: the run may not be redriven. */
  RunEnded:
    /** `files`: those that the result carries; absent without any. */
    | { readonly status: "completed"; readonly result: Value; readonly files?: readonly FileRef[] }
    | { readonly status: "failed"; readonly failure: Failure; readonly from?: FailedFrom }
    | { readonly status: "cancelled" };
}

export type EventKind = keyof Bodies;

/** One event: when it happened (`at`, epoch milliseconds) and what happened. */
export type Event = { readonly [K in EventKind]: EventOf<K> }[EventKind];
export type EventOf<K extends EventKind> = { readonly kind: K; readonly at: number } & Bodies[K];

/** What one commit added. `version` is the version of the run after this commit. */
export interface CommitRecord {
  readonly version: number;
  readonly epoch: number;
  readonly events: readonly Event[];
}

/** What the recovery table may decide. */
export type Action =
  /** Call the model again, not before `at`. `outage`: what is known of the provider. */
  | { readonly kind: "retry"; readonly at: number; readonly outage: Outage }
  /** Summarise the older messages, then call the model. `at`: not before then. `failed`: the model of summaries failed. */
  | { readonly kind: "compact"; readonly at?: number; readonly failed?: FailedSummaries }
  /** Add a message for the model and go on. `isCut`: its reply was cut, which is counted apart. */
  | { readonly kind: "nudge"; readonly text: string; readonly isCut?: true }
  /** Call the model again, without what its provider can do without in the transcript. */
  | { readonly kind: "leaveOut" }
  /** Call the model again, with a limit of so many tokens for its reply. */
  | { readonly kind: "limitReply"; readonly tokensMax: number }
  /** Make the closing call, then end the run. */
  | { readonly kind: "stop"; readonly failure: Failure; readonly text: string }
  /** End the run. It compensates first, and may restart. `next`: `end` forbids the restart, `leave` both of them. */
  | {
      readonly kind: "abort";
      readonly failure: Failure;
      readonly next?: "end" | "leave";
      /** The end does not wait for children. */
      readonly forced?: true;
      /** An operator asked for a restart, and nothing else ends the run: a cancel that follows replaces this end. */
      readonly restarts?: true;
    }
  /** The child run goes on in place of that end. `try`: which one of the `tries` of its hand-off begins. */
  | {
      readonly kind: "tryAgain";
      readonly failure: Failure;
      readonly try: number;
      readonly tries: number;
      /** What its model reads; absent: nothing new. */
      readonly text?: string;
    }
  /** End as decided, without waiting for children any longer. */
  | { readonly kind: "force" }
  /** Compensate: undo the effects in reverse order. Nothing else starts from here on. */
  | { readonly kind: "compensate" }
  /** Undo the effect of this call, the newest effect that stands. */
  | { readonly kind: "undo"; readonly call: string }
  /** Restart from the task, under new idempotency keys. */
  | { readonly kind: "restart"; readonly text: string }
  /** Run the call again with its idempotency key. */
  | { readonly kind: "again"; readonly call: string }
  /** Probe the external service for the call, not before `at`. `tried`: an attempt ended with an unknown outcome. */
  | {
      readonly kind: "probe";
      readonly call: string;
      readonly at: number;
      readonly tried: boolean;
      /** When the run was restored from a backup: the probe asks what happened in the lost time. */
      readonly restored?: number;
    }
  /** Call nothing before version `to` of the agent is accepted; null: before the agent can be loaded. */
  | { readonly kind: "hold"; readonly to: string | null }
  /** Call nothing before an operator has mended what fails. */
  | ({ readonly kind: "block" } & ToMend)
  /**
   * The call did not begin, and a later beat releases it. `after`: how this invocation knows that. `missed`: it had done
   * nothing before and could not start the call, so the beat counts (`BOUNDS.missedBeatsMax`).
   */
  | { readonly kind: "postpone"; readonly call: string; readonly after: PostponedAfter; readonly missed?: true }
  /**
   * The gate of the call, or of the budget, expired without a decision: a human is asked again. `restored`: it is from
   * before that restore of its run, so one question is to say that the call may have happened.
   */
  | { readonly kind: "askAgain"; readonly call: string; readonly gate: string; readonly restored?: number }
  /**
   * Nobody has answered for long: operators are told. `expiresAt`: the run ends then, epoch milliseconds; null: it goes
   * on waiting.
   */
  | { readonly kind: "warn"; readonly expiresAt: number | null }
  /** Code of the agent changed a function of the language, and its process ended. */
  | { readonly kind: "intrinsicChanged"; readonly changed: ChangedIntrinsic }
  /** The agent has the tool of this call again, so the effect table decides about the call. */
  | { readonly kind: "toolBack"; readonly call: string }
  /** The outcome of the call stays unknown, and the model is told so. */
  | { readonly kind: "tell"; readonly call: string }
  /** End the run because an operator or client cancelled it. */
  | { readonly kind: "cancel" }
  /** The invocation that held the run is gone: go on from the last checkpoint. */
  | { readonly kind: "takeover"; readonly from: string; readonly takeovers: number };

/**
 * How an invocation knows that a call that it postpones did not begin. `intent`: nothing released it. `release`: this
 * invocation released it, and did not start it. `retry`: the same, and a request of an earlier try may have left and got
 * no answer. `probe`: the external service has no effect of it.
 */
export type PostponedAfter = "intent" | "release" | "retry" | "probe";

/** The model's provider does not answer. */
export interface Outage {
  /** When its first call failed, in epoch milliseconds. */
  readonly since: number;
  /** How many calls have failed since then. */
  readonly attempts: number;
  /** The provider asked for no call before this time (`retry-after`), in epoch milliseconds. */
  readonly notBefore?: number;
  /** Which model is called next: 1 is the agent's first fallback. Absent: the agent's own model. */
  readonly model?: number;
  /** An alarm went to the operator. */
  readonly alarmed?: true;
}
