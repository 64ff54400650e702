/**
 * The state of a run: everything that is expensive to compute again or unsafe to repeat.
 * It holds nothing that comes from configuration. It is an immutable value, and only `transition` makes the next one.
 */
import type { Child, ExpectedAnswer } from "./child.ts";
import type { Chosen } from "./choice.ts";
import type { ChangedIntrinsic } from "./changed-intrinsic.ts";
import type { Deadline } from "./deadline.ts";
import type { ForkedFrom } from "./forked-from.ts";
import type { RunFiring } from "./run-firing.ts";
import type { Grant, BudgetLimits, Spent } from "./policy/budget.ts";
import type { FileRef } from "./file.ts";
import type { Gate } from "./approval.ts";
import type { HeldBy } from "./held-by.ts";
import type { Json } from "./json.ts";
import type { Crack } from "./crack.ts";
import type { Answer, EventOf, Failure, OnUnknown, Outage, ToMend } from "./event.ts";
import type { FailedSummaries } from "./failed-summaries.ts";
import type { FailedFrom } from "./failed-from.ts";
import type { RunMemory } from "./memory.ts";
import type { Message, Value } from "./message.ts";
import type { ModelOut } from "./model-out.ts";
import type { OutsideWork } from "./outside.ts";
import type { ParsedArgs } from "./parsed-args.ts";
import type { Phase } from "./phases.ts";
import type { Price } from "./policy/price.ts";
import type { RunRetention } from "./policy/retention.ts";
import type { Signal } from "./wait.ts";

/**
 * A decided end that is not yet committed. A completed run needs none, since it ends without a wait. A failed run
 * compensates first, and may then restart. `next`: `end` forbids the restart, `leave` forbids both.
 */
export type Ending = (
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      readonly next?: "end" | "leave";
      /** An operator asked for a restart, and nothing else ends the run. */
      readonly restarts?: true;
    }
  | { readonly kind: "cancelled" }
) & {
  /** The end does not wait for children, and nothing is compensated. */
  readonly forced?: true;
};

/** A call whose effect can be undone. Before `from` its request may still take effect; null: its outcome is known. */
export interface Undoable {
  readonly call: string;
  /** The idempotency key of the call: it identifies the effect if the result is lost. */
  readonly key: string;
  readonly from: number | null;
  /** What the schema of its tool made of its arguments; absent: the same. */
  readonly parsed?: ParsedArgs;
  /** The version of the agent has changed since its intent. */
  readonly agentChanged?: true;
}

/** What the earlier runs of repeated work did outside. Calls are oldest first. */
export interface Repeats {
  /** To be undone, or asked about, before the repeated work begins. */
  readonly due: readonly string[];
  readonly undone: readonly string[];
  /** Effects that stand. An equal call asks a human first. */
  readonly standing: readonly string[];
}

/** A call without a final outcome. Its arguments are in the transcript; settled calls live in the events. */
export interface OpenCall {
  /** `c1`, `c2`, ...; the call that undoes `c1` is `undo-c1`. */
  readonly call: string;
  readonly tool: string;
  /** `gated`: it waits for a human's approval. `permitted`: a human approved it. */
  readonly status: "proposed" | "gated" | "permitted" | "started" | "unknown";
  /** Null until `ToolIntended` records the intent. */
  readonly intent: Omit<EventOf<"ToolIntended">, "kind" | "at" | "call"> | null;
  /** What it waits for, a gate before its release or a child run or a wait after it. Absent: nothing holds it. */
  readonly heldBy?: HeldBy;
  /** The arguments that a human set in place of the model's, or null. */
  readonly edited: Value | null;
  /** The epoch whose commit released it. Only that invocation may start an unsafe call. */
  readonly releasedBy: number | null;
  /** Attempts that ended with an unknown outcome, or with an error after which the tool wants another attempt. */
  readonly attempts: number;
  /** How often it became unknown, and the earliest time at which a human can know that it did not happen. */
  readonly timesUnknown: number;
  readonly reconcilableFrom: number | null;
  /** When the probe may run: older invocations are dead by then, and their requests settled. Null: no probe is due. */
  readonly probeAt: number | null;
  /** An absorbed reconciliation. It is applied when `effectsSettleAt` has passed (schedule 42). */
  readonly answer: Answer | null;
  /** It is unknown because the agent has no tool for it. A later version may have the tool again. */
  readonly toolGone?: boolean;
  /** Why no beat could start it. It did not begin, and an operator decides what follows. */
  readonly unbegun?: string;
  /** It was agreed and did not begin; absent for a call that was never postponed. */
  readonly postponed?: Postponed;
  /** How often its gate was opened again: the edited arguments did not fit its tool, or the run was redriven. */
  readonly timesReopened?: number;
  /** The call that this one undoes. Its arguments come from there, and its tool is the undo of that tool. */
  readonly undoes?: string;
  /** What follows at `reconcilableFrom` without an answer. Absent: only a human's answer can settle it. */
  readonly onUnknown?: OnUnknown;
  /** What its tool read outside before the release, for its probe. */
  readonly before?: Json;
  /** The version of the agent has changed since its intent: the schema of its tool may be another one. */
  readonly agentChanged?: true;
  /** The restore of the run (`RestoredMark.at`) about which its probe or its question has asked. */
  readonly restored?: number;
  /** Why its tool needs approval, where the question about its outcome asks for that as well. */
  readonly approval?: string;
  /** What the child runs of this call did outside, as far as they reported. */
  readonly outside?: OutsideWork;
}

/** What the state keeps of a call that was postponed. */
export interface Postponed {
  /** How many beats in a row could not start it. */
  readonly missed: number;
  /** It was released before, so it is debited. */
  readonly released?: true;
  /** An earlier invocation may have begun it. Its effect is known not to have happened. */
  readonly begunBefore?: true;
}

/**
 * What a run waits for before it goes on: its agent cannot be loaded, version `to` needs acceptance, or an operator has
 * to mend what fails again and again.
 */
export type Lack =
  | { readonly kind: "agent"; readonly why: string }
  | { readonly kind: "upgrade"; readonly to: string }
  | ({ readonly kind: "operator" } & ToMend);

/** `follow`: the run adopts each deployed version of its agent. `pin`: an operator has to accept the version first. */
export type UpgradePolicy = "follow" | "pin";

/** How the run relates to the versions of its agent. */
export interface Upgrades {
  /** As the agent declared it when the run was created: a later version cannot unpin the run. */
  readonly policy: UpgradePolicy;
  /** How often the run began to wait. It numbers the question that an operator answers. */
  readonly questions: number;
  readonly lack: Lack | null;
  /** The version that an operator accepted, until the run adopts it. */
  readonly accepted: { readonly to: string; readonly by: string } | null;
}

/** The initial value for a run that follows every version. */
export const FOLLOWS: Upgrades = { policy: "follow", questions: 0, lack: null, accepted: null };

/** A gate that asks for more budget: the limits so far, and how many calls wait for release. */
export interface BudgetGate extends Gate {
  readonly limits: BudgetLimits;
  readonly calls: number;
}

/** How often the run asked for more budget, what it was granted beyond the agent's budget, and the open gate. */
export interface Extension {
  readonly questions: number;
  readonly granted: Grant;
  readonly gate: BudgetGate | null;
}

/** Times are epoch milliseconds. */
export interface State {
  readonly run: string;
  readonly born: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly task: Value;
  readonly phase: Phase;
  /** How many process deaths recovery may cost. It is here since a beat beyond that number does not load the agent. */
  readonly takeoversMax: number;
  /** What the model charges, by the agent's version; absent where the price is not known. */
  readonly price?: Price;
  /** It is here since the beat that ends the run may have no agent. Absent: the world's default, and no archive. */
  readonly retention?: RunRetention;
  /** The restart number. Every derived idempotency key contains it. */
  readonly restart: number;
  /** Calls ever proposed, over all restarts. */
  readonly calls: number;
  readonly open: readonly OpenCall[];
  /** Runs that this run dispatched and whose end it has not absorbed. */
  readonly children: readonly Child[];
  /** What the parent of this run reserved for it. The limits of its agent's budget are never above it. */
  readonly grant?: Grant;
  /** How many runs are above this one; absent for a run that no run dispatched. */
  readonly depth?: number;
  /** What its parent takes for an answer; absent without a parent that waits for one. */
  readonly expected?: ExpectedAnswer;
  readonly spent: Spent;
  /** Counters of the recovery table. A usable reply sets them back to 0. */
  readonly modelRetries: number;
  readonly nudges: number;
  /** How many replies in a row a limit cut; absent: the last one is whole. */
  readonly cutReplies?: number;
  /** Requests leave out what providers can do without, since one was refused with it. Absent: they are whole. */
  readonly leavesOut?: true;
  /** The limit of a reply in tokens, since a request with a higher one was refused. Absent: the agent's own. */
  readonly replyTokensMax?: number;
  /** The run goes on waiting where nobody answers. Absent: it ends. */
  readonly onIdle?: "wait";
  /** The end for want of an answer that operators were warned of, epoch milliseconds. */
  readonly warnedOf?: number;
  /** When the model may be called again; null except in `RetryingLLM` and `Compacting`. */
  readonly retryAt: number | null;
  /** The model's provider does not answer; absent while it does. */
  readonly outage?: Outage;
  /** Absent until the agent's model for summaries fails, and after the next reply of a model. */
  readonly failedSummaries?: FailedSummaries;
  /** The fallback that is called instead of the agent's own model; absent until a fallback answers. */
  readonly fallback?: ActiveFallback;
  /** The request to a model that is out; absent while there is none. */
  readonly modelOut?: ModelOut;
  /** Why the run has to stop; absent before `ForceStop`. The run fails with it, whatever the closing call brings. */
  readonly stopsFor?: Failure;
  /** The reply of a closing call may be lost. The call is not repeated. */
  readonly closingCallLost?: true;
  /** The decided end, not yet committed. A failed end waits until `effectsSettleAt`. */
  readonly ending: Ending | null;
  /** The phase to go back to; null unless the run is paused or waits for its agent. */
  readonly pausedFrom: Phase | null;
  readonly result: Value | null;
  /** The files that the result carries; absent without any. */
  readonly resultFiles?: readonly FileRef[];
  readonly failure: Failure | null;
  /** Where a failed run stood; absent if it may not be redriven. */
  readonly failedFrom?: FailedFrom;
  /** Absent until the first redrive. */
  readonly redriven?: Redriven;
  /** IDs of messages whose content is taken in and whose inbox items may still exist. */
  readonly absorbed: readonly string[];
  readonly startedAt: number | null;
  /** Absent until the run starts, and where its agent sets none. */
  readonly deadline?: Deadline;
  /** The identity that started the run, as the API or CLI knows it; absent where none was given. */
  readonly startedBy?: string;
  /** The firing of a schedule that started the run; absent: none did. A fork has that of its source. */
  readonly firing?: RunFiring;
  /** Where the run was forked from; absent for a run that was started. */
  readonly forked?: ForkedFrom;
  /** The functions of the language that its tools changed, the newest one of each tool; absent if none did. */
  readonly changedIntrinsics?: readonly ChangedIntrinsic[];
  /** Absent while the run follows every version and never waited for one. */
  readonly upgrades?: Upgrades;
  /** Absent until the run asks for more budget. */
  readonly extension?: Extension;
  /** Events that came before a call waited for them, oldest first. Absent while the run can wait for none. */
  readonly signals?: readonly Signal[];
  /** What the run and its children did outside, for its own report; absent: nothing that acts outside was released. */
  readonly outside?: OutsideWork;
  /** Effects that can be undone, oldest first. */
  readonly undo?: readonly Undoable[];
  /** Absent until a topology repeats work that acted outside. */
  readonly repeats?: Repeats;
  /** Present while the run compensates. `left`: calls whose effects a human decided to leave in place. */
  readonly saga?: { readonly leftInPlace: readonly string[] };
  /** A request to compensate, before a cancelled run ends or before the run restarts. */
  readonly compensate?: { readonly next: "cancel" | "restart"; readonly by: string };
  /** The index of the first message after the last restart; absent before the first restart. */
  readonly restartedFrom?: number;
  /** The operator who is responsible for the run; absent until the first assignment. */
  readonly assigned?: { readonly number: number; readonly to: string; readonly by: string };
  /** The newest decision that had no effect; absent if there was none. */
  readonly ignoredDecision?: Omit<EventOf<"DecisionIgnored">, "kind">;
  /** What the model sees besides the first message; absent while it sees all messages. */
  readonly window?: EventOf<"Compacted">["window"];
  /** Where the topology stands; absent before it begins, and for ReAct until a contradiction is escalated. */
  readonly topology?: TopologyState;
  /** The first signals of failures that were given. */
  readonly cracks?: { readonly [C in Crack]?: SeenCrack };
  /** Absent where the run has recalled and learned nothing. */
  readonly memory?: RunMemory;
  /** Names the tools of servers that are left out (`ToolsLeftOut`); absent where none is. */
  readonly leftOutTools?: string;
  /** What functions of the agent chose for the calls of its model; absent where it has none. */
  readonly chosen?: Chosen;
  /** The canonical message list. Its sealed ranges are stored separately, and loading restores them. */
  readonly messages: readonly Message[];
}

/** What the state keeps about redrives. */
export interface Redriven {
  /** How often the run was redriven. Each end of the run has its own archive. */
  readonly times: number;
  /** The ID of the last redrive. */
  readonly id: string;
}

/** A fallback gave the last answer. It is called first until `until`. */
export interface ActiveFallback {
  readonly model: number;
  readonly until: number;
}

/** What the state keeps about its topology. Caps and limits come from the agent; counters and times are in `progress`. */
export interface TopologyState {
  readonly kind: string;
  readonly progress: Json;
  readonly role: string;
  readonly where: string;
  /** The index of the message that opens the section; 0 while the section is the whole transcript. */
  readonly from: number;
  /** The ID of the message whose text is the answer; absent until the topology has finished. */
  readonly final?: string;
}

/** A crack as far as it was signalled: how often, and the last time, reason and section. */
export interface SeenCrack {
  readonly times: number;
  readonly at: number;
  readonly why: string;
  /** The index of the first message of that section. */
  readonly section: number;
}
