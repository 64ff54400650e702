/**
 * The state of a run: what is expensive to compute again or unsafe to repeat (seed 3), and nothing that comes from
 * configuration. It is a value; only `transition` makes the next one.
 */
import type { Grant, Limits, Spent } from "./policy/budget.ts";
import type { Answer, Decision, EventOf, Failure, OnUnknown, Outage, FailedFrom } from "./event.ts";
import type { Message, Value } from "./message.ts";
import type { Phase } from "./phases.ts";
import type { Price } from "./policy/price.ts";
import type { Retention } from "./policy/retention.ts";

/**
 * A decided end. Only a run that is done completes, and that needs no waiting. What a failed run did is undone before, and
 * it may start again then; `next`: it ends after that, or leaves everything as it is.
 */
export type Ending =
  | { readonly kind: "failed"; readonly failure: Failure; readonly next?: "end" | "leave" }
  | { readonly kind: "cancelled" };

/** A call whose effect can be undone, and from when: what left may still land. Null: its outcome is known. */
export interface Undoable {
  readonly call: string;
  /** What it went out under: the handle of an effect whose result nobody has. */
  readonly key: string;
  readonly from: number | null;
}

export interface Gate {
  /** The hash of what is approved, so that a decision about anything else names no gate (schedule 29). */
  readonly gate: string;
  readonly planHash: string;
  readonly argsHash: string;
  readonly reason: string;
  readonly expiresAt: number;
  readonly decision: Decision | null;
}

/** A call that nobody settled yet. Its arguments are in the transcript; settled calls live in the events. */
export interface OpenCall {
  /** `c1`, `c2`, ...; of one that undoes `c1` it is `undo-c1`. */
  readonly call: string;
  readonly tool: string;
  /** `gated`: a person is asked before it is released. `permitted`: a person allowed it. */
  readonly status: "proposed" | "gated" | "permitted" | "started" | "unknown";
  /** From here on null while it is only proposed. */
  readonly intent: Omit<EventOf<"ToolIntended">, "kind" | "at" | "call"> | null;
  /** What is asked before it may start, and the decision as soon as it is absorbed; null unless gated. */
  readonly gate: Gate | null;
  /** The arguments that a person gave it instead of the model's, or null. */
  readonly edited: Value | null;
  /** The epoch whose commit released it; only that invocation may start an unsafe call. */
  readonly releasedBy: number | null;
  /** Tries that ended without an answer, or with an error after which its tool wants another one. */
  readonly tries: number;
  /** How often it became unknown, and from when a person can tell that it did not happen. */
  readonly asked: number;
  readonly askFrom: number | null;
  /** When a probe may be asked: whoever could still act is dead then, and what left has landed. Null: no probe is due. */
  readonly probeAt: number | null;
  /** An answer that was absorbed and is applied when quiet has passed (schedule 42). */
  readonly answer: Answer | null;
  /** It is unknown because the agent has no tool that could go on with it; such a tool may come back. */
  readonly toolGone?: boolean;
  /** How often it was asked about again: arguments that a person gave did not fit its tool, or the run was redriven. */
  readonly askedAgain?: number;
  /** The call that it undoes: its arguments are that one's, and its tool is the undo of that one's. */
  readonly undoes?: string;
  /** What follows at `askFrom` if nobody has answered. Absent: nothing, somebody has to. */
  readonly otherwise?: OnUnknown;
}

/** Code that a run waits for. */
export type Lack = { readonly kind: "agent"; readonly why: string } | { readonly kind: "upgrade"; readonly to: string };

/** Whether a run goes on with each version of its agent that is deployed, or waits until somebody accepts it. */
export type UpgradePolicy = "follow" | "pin";

/** How a run and the versions of its agent stand. */
export interface Upgrades {
  /** As the agent was declared when the run was made: a later version cannot unpin it. */
  readonly policy: UpgradePolicy;
  /** How often the run began to wait: the question that somebody answers. */
  readonly asked: number;
  readonly lack: Lack | null;
  /** The version that somebody lets this run go on with, until it does. */
  readonly accepted: { readonly to: string; readonly by: string } | null;
}

export const FOLLOWS: Upgrades = { policy: "follow", asked: 0, lack: null, accepted: null };

/** A gate that asks for more budget: what the limits were, and how many calls wait to be released. */
export interface BudgetGate extends Gate {
  readonly limits: Limits;
  readonly calls: number;
}

/** What a person was asked for, how often, and what was given beyond the budget of the agent. */
export interface Extension {
  readonly asked: number;
  readonly granted: Grant;
  readonly gate: BudgetGate | null;
}

export interface State {
  readonly run: string;
  readonly born: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly task: Value;
  readonly phase: Phase;
  /** How many deaths recovery may cost; here because a beat that is over it loads no agent. */
  readonly takeoversMax: number;
  /** What its model charges, as the agent of its version says; absent where no price is known. */
  readonly price?: Price;
  /** Here for the same reason: whoever tells the end has no agent. Absent: the world's default, and no archive. */
  readonly retention?: Retention;
  /** Raised by a restart from scratch; part of every derived key. */
  readonly attempt: number;
  /** Calls ever proposed, in all attempts. */
  readonly calls: number;
  readonly open: readonly OpenCall[];
  /** Runs that this one started and whose end it has not heard of. */
  readonly children: readonly string[];
  readonly spent: Spent;
  /** Counters of the recovery table, back to 0 at a reply that could be used. */
  readonly modelRetries: number;
  readonly nudges: number;
  /** When the model may be asked again; null except in RetryingLLM. */
  readonly retryAt: number | null;
  /** The model's provider gives no answers; absent while it does. */
  readonly outage?: Outage;
  /** A fallback is asked instead of the agent's own model; absent before the first one answers. */
  readonly fallback?: ActiveFallback;
  /** Why the run has to stop; absent before ForceStop. What it ends with, whatever becomes of its last words. */
  readonly stopsFor?: Failure;
  /** A closing call may have been made whose reply was lost: it is not made again. */
  readonly closingCallLost?: true;
  /** What the run will end with, decided and not yet committed: a failed end waits for quiet. */
  readonly ending: Ending | null;
  /** The phase to go back to; null unless the run is paused or waits for its agent. */
  readonly pausedFrom: Phase | null;
  readonly result: Value | null;
  readonly failure: Failure | null;
  /** Where a failed run stood, if it may be redriven. */
  readonly failedFrom?: FailedFrom;
  /** Absent as long as nobody redrove the run. */
  readonly redriven?: Redriven;
  /** Messages whose content is taken and whose inbox items may still exist. */
  readonly absorbed: readonly string[];
  readonly startedAt: number | null;
  /** The identity that started it, as its surface knows it; absent where none was told. */
  readonly startedBy?: string;
  /** Absent as long as the run follows every version and never waited for one. */
  readonly upgrades?: Upgrades;
  /** Absent as long as nobody was asked for more budget. */
  readonly extension?: Extension;
  /** What can be undone, in the order in which it was done. */
  readonly undo?: readonly Undoable[];
  /** While it is being undone: the calls that somebody said to leave as they are. */
  readonly saga?: { readonly left: readonly string[] };
  /** Somebody wants what was done to be undone: before a cancelled run ends, or so that it starts again. */
  readonly compensate?: { readonly next: "cancel" | "restart"; readonly by: string };
  /** Where this attempt begins in the transcript; absent in the first one. */
  readonly attemptFrom?: number;
  /** Who is to look at the run; absent as long as nobody said so. */
  readonly assigned?: { readonly asked: number; readonly to: string; readonly by: string };
  /** The newest decision that had no effect; absent as long as each had one. */
  readonly ignoredDecision?: Omit<EventOf<"DecisionIgnored">, "kind">;
  /** What its model is shown of the messages besides the first one; absent as long as it is shown all of them. */
  readonly window?: EventOf<"Compacted">["window"];
  /** The canonical message list. Its sealed stretches are stored apart and come back before anyone looks. */
  readonly messages: readonly Message[];
}

/** What is remembered of redrives. */
export interface Redriven {
  /** How often; each end of the run has an archive of its own. */
  readonly times: number;
  /** Names the last one. */
  readonly id: string;
}

/** A fallback gave the last answer, and is asked first until then. */
export interface ActiveFallback {
  readonly model: number;
  readonly until: number;
}
