/**
 * The open calls of a run, followed through its events without its state: which calls are open, what each waits for, and
 * which event settles it. The one reader for everything that shows calls. A table has a row for each kind of event, so
 * the compiler asks what a new kind does to calls. A property compares it with `transition.ts` over random runs.
 */
import { BUDGET } from "../policy/extension.ts";
import type { ChildEnd } from "../child.ts";
import type { Action, Event, EventKind, EventOf, MessageBody, OnUnknown } from "../event.ts";
import { type CallOutcome, type Value, inline } from "../message.ts";
import type { OutsideWork } from "../outside.ts";
import type { WaitKind } from "../wait.ts";
import { NEXT_MESSAGE } from "./next-message.ts";
import { joinedWork, unknownWork } from "./outside.ts";
import { countAfter, proposedBy } from "./proposed-calls.ts";

/** An open call, as its events tell of it. */
export interface FollowedCall {
  readonly call: string;
  readonly tool: string;
  /** `proposed`: it is still to be released. `gated`: a human decides first. `started`: it was released. */
  readonly status: "proposed" | "gated" | "started" | "unknown";
  /** What ends its wait; absent: it does not wait, or for a child. */
  readonly waitsFor?: WaitKind;
  /** What follows while its outcome is unknown. */
  readonly onUnknown?: OnUnknown;
  /** It is known not to have begun, and its outcome is in question all the same. */
  readonly unbegun?: true;
  /** It runs alone, and its intent is committed. */
  readonly isAlone?: boolean;
  /** How its child ended, until its result is recorded. */
  readonly report?: ChildEnd;
  readonly outside?: OutsideWork;
  /** When its gate expires, in epoch milliseconds. */
  readonly expiresAt?: number;
  /** It undoes another call: no model asked for it. */
  readonly undoes?: string;
}

/** A call that an event settled, as it was before. `value`: what the model sees. */
export interface FollowedSettlement extends FollowedCall {
  readonly outcome: CallOutcome;
  readonly value: Value;
  /** A human denied it at its gate. */
  readonly isDenied?: true;
}

interface FollowedChild {
  readonly call: string;
  /** Nothing waits for it. */
  readonly left: boolean;
  /** Its call waits for it no longer, or for its end only. */
  readonly late?: "superseded" | "awaited";
}

/** What is known of the calls of a run after some of its events. */
export interface FollowedCalls {
  readonly open: Map<string, FollowedCall>;
  readonly children: Map<string, FollowedChild>;
  /** How many calls the models proposed. */
  count: number;
  /** A gate asks for more budget. */
  asksBudget: boolean;
  /** The end is decided: no report of a child is judged any more. */
  isEnding: boolean;
  /** The next reply is the closing one, whose calls are dropped. */
  isStopping: boolean;
  /** The calls that were started where the run failed. */
  startedAtEnd: readonly string[];
  /** The calls that a tool can undo. */
  readonly undoable: Set<string>;
}

/** The calls of a run without events. */
export const followedCalls = (): FollowedCalls => ({
  open: new Map(),
  children: new Map(),
  count: 0,
  asksBudget: false,
  isEnding: false,
  isStopping: false,
  startedAtEnd: [],
  undoable: new Set(),
});

/** Takes in the next event of the run. Returns the calls that it settles. */
export const followCalls = (calls: FollowedCalls, event: Event): readonly FollowedSettlement[] =>
  (FOLLOWS[event.kind] as Follow<Event>)(calls, event) ?? [];

/** Whether an event of its kind may change what is known of calls. */
export const touchesCalls = (event: Event): boolean =>
  (event.kind === "RecoveryDecided" ? ACTIONS[event.action.kind] : FOLLOWS[event.kind]) !== nothing;

/** A human has to act before anything goes on: each open call waits for one, or for a call that does. */
export function waitsForHuman({ open, asksBudget }: FollowedCalls): boolean {
  const all = [...open.values()];
  const isAsked = asksBudget || all.some(asksHuman);
  return isAsked && all.every((call, index) => asksHuman(call) || isBehind(call, { all, index, asksBudget }));
}

/** The call itself waits for a human: for an operator, or for the next message of its user. */
export const asksHuman = ({ tool, status, waitsFor, onUnknown }: FollowedCall): boolean =>
  status === "gated" ||
  (status === "started" && (waitsFor === "answer" || (waitsFor === "event" && tool === NEXT_MESSAGE))) ||
  (status === "unknown" && (onUnknown ?? "ask") === "ask");

/** The call is still to be released, and waits for the budget, or for an earlier call of its reply (schedule 61). */
function isBehind(
  { status, isAlone }: FollowedCall,
  {
    all,
    index,
    asksBudget,
  }: { readonly all: readonly FollowedCall[]; readonly index: number; readonly asksBudget: boolean },
): boolean {
  if (status !== "proposed") return false;
  if (asksBudget) return true;
  if (isAlone === undefined) return false;
  return all.slice(0, index).some((before) => isAlone || before.isAlone === true);
}

type Follow<E> = (calls: FollowedCalls, event: E) => readonly FollowedSettlement[] | undefined;
type Table = { readonly [K in EventKind]: Follow<EventOf<K>> };

const nothing = (): undefined => undefined;

/** Changes a call if it is open. */
function change({ open }: FollowedCalls, call: string, by: (found: FollowedCall) => FollowedCall): undefined {
  const found = open.get(call);
  if (found !== undefined) open.set(call, by(found));
}

function settle(
  { open }: FollowedCalls,
  call: string,
  as: Pick<FollowedSettlement, "outcome" | "value" | "isDenied">,
): readonly FollowedSettlement[] {
  const found = open.get(call);
  if (found === undefined) return [];
  open.delete(call);
  return [{ ...found, ...as }];
}

/** The same call when nothing holds it. */
function free({ call, tool, isAlone, outside, undoes }: FollowedCall): FollowedCall {
  return {
    call,
    tool,
    status: "proposed",
    ...(isAlone !== undefined && { isAlone }),
    ...(outside && { outside }),
    ...(undoes !== undefined && { undoes }),
  };
}

const started = (call: FollowedCall): FollowedCall => ({ ...free(call), status: "started" });

const FOLLOWS: Table = {
  RunStarted: (calls, event) => void (calls.count = countAfter(event, calls.count)),
  AgentChanged: nothing,
  RequestChosen: nothing,
  ToolsLeftOut: nothing,
  ModelCallCompleted: (calls, event) => {
    if (calls.isStopping) return;
    for (const { call, tool } of proposedBy(event, calls.count)) {
      calls.open.set(call, { call, tool, status: "proposed" });
    }
    calls.count = countAfter(event, calls.count);
  },
  ModelCallLost: nothing,
  BudgetDebited: nothing,
  Compacted: nothing,
  DetachedCallBegun: nothing,
  DetachedCallSubmitted: nothing,
  DetachedCallEnded: nothing,
  ResultSummarised: nothing,
  Recalled: nothing,
  Learned: nothing,
  CrackSignalled: nothing,
  TopologyMoved: nothing,
  CheckFailed: nothing,
  RunPaused: nothing,
  RunResumed: nothing,
  DecisionIgnored: nothing,
  InputRefused: nothing,
  InputIgnored: nothing,
  ToolIntended: (calls, { call, alone, undo }) => {
    if (undo === true) calls.undoable.add(call);
    else calls.undoable.delete(call);
    return change(calls, call, (open) => ({ ...open, isAlone: alone === true }));
  },
  ApprovalRequested: (calls, { call, expiresAt }) => {
    if (call === BUDGET) calls.asksBudget = true;
    change(calls, call, (open) => ({ ...open, status: "gated", expiresAt }));
  },
  HumanApprovalReceived: (calls, { call, decision: { as, by, note } }) => {
    if (call === BUDGET) calls.asksBudget = false;
    if (as !== "deny") return change(calls, call, free);
    const value = inline(note === null ? `denied by ${by}` : `denied by ${by}: ${note}`);
    return settle(calls, call, { outcome: "failed", value, isDenied: true });
  },
  ToolInvoked: (calls, { call }) => change(calls, call, started),
  ToolResultRecorded: (calls, { call, outcome, value }) => settle(calls, call, { outcome, value }),
  ToolCompensated: (calls, { call, value }) => settle(calls, call, { outcome: "succeeded", value }),
  ToolOutcomeUnknown: (calls, { call, why, reconcilableFrom, onUnknown = "ask", unbegun }) => {
    if (reconcilableFrom === null) return settle(calls, call, { outcome: "unknown", value: inline(why) });
    return change(calls, call, ({ report: _, unbegun: _before, ...open }) => ({
      ...open,
      status: "unknown",
      onUnknown,
      ...(unbegun && { unbegun }),
    }));
  },
  ToolResultReconciled: (calls, { call, answer: { as, value, note } }) => {
    if (as === "retry") return change(calls, call, free);
    const outcome = as === "succeeded" ? "succeeded" : "failed";
    return settle(calls, call, { outcome, value: value ?? inline(note ?? `a person says that it ${as}`) });
  },
  MessageAbsorbed: (calls, event) =>
    event.stage === "cleared" ? undefined : (MESSAGES[event.body.kind] as Follow<MessageBody>)(calls, event.body),
  WaitBegun: (calls, { call, wait }) => change(calls, call, (open) => ({ ...started(open), waitsFor: wait.for })),
  ChildDispatched: (calls, { call, child, left = false }) => {
    calls.children.set(child, { call, left });
    change(calls, call, started);
  },
  ChildStarted: (calls, { child }) => {
    const found = calls.children.get(child);
    if (found?.left !== true) return;
    calls.children.delete(child);
    return settle(calls, found.call, { outcome: "succeeded", value: inline({ run: child }) });
  },
  ChildSuperseded: ({ children }, { child, awaited }) => {
    const found = children.get(child);
    if (found === undefined) return;
    children.set(child, { ...found, late: awaited === true ? "awaited" : "superseded" });
  },
  ChildAskedToStop: nothing,
  ChildContinued: nothing,
  ChildResumed: nothing,
  ChildNeverMade: (calls, { child }) => {
    const found = calls.children.get(child);
    calls.children.delete(child);
    if (found === undefined || found.late === "superseded") return;
    // It did nothing, so another child may be made for its call.
    if (found.late === "awaited" && !calls.isEnding) return reported(calls, found, NEVER_MADE);
    return settle(calls, found.call, { outcome: "failed", value: NEVER_MADE.value });
  },
  RecoveryDecided: (calls, { action, why }) => (ACTIONS[action.kind] as FollowAction)(calls, action, why),
  RunEnded: (calls, event) => {
    calls.startedAtEnd = event.status === "failed" ? (event.from?.started ?? []) : [];
  },
  RunRedriven: (calls, { at }) => {
    [calls.isEnding, calls.isStopping] = [false, false];
    for (const [call, found] of calls.open) {
      const mayHaveBegun = found.status === "unknown" && calls.startedAtEnd.includes(call);
      const isExpired = found.status === "gated" && (found.expiresAt ?? at) <= at;
      if (mayHaveBegun) calls.open.set(call, { ...found, status: "started" });
      else if (isExpired) calls.open.set(call, free(found));
    }
  },
};

const NEVER_MADE: ChildEnd = {
  status: "cancelled",
  value: inline("NotStarted: the child run was never made; it did nothing"),
};

/** The call judges how its child ended, unless the run is to end. */
function reported(calls: FollowedCalls, { call }: FollowedChild, report: ChildEnd): readonly FollowedSettlement[] {
  change(calls, call, (open) => ({ ...open, report }));
  return calls.isEnding ? settleReports(calls) : [];
}

const settleReports = (calls: FollowedCalls): readonly FollowedSettlement[] =>
  [...calls.open.values()].flatMap(({ call, report, outside }) => {
    if (report === undefined) return [];
    const failed = unknownWork(outside).length > 0 ? "unknown" : "failed";
    return settle(calls, call, { outcome: report.status === "completed" ? "succeeded" : failed, value: report.value });
  });

const settleWaits = (calls: FollowedCalls): readonly FollowedSettlement[] =>
  [...calls.open.values()].flatMap(({ call, status, waitsFor }) => {
    if (status !== "started" || waitsFor === undefined) return [];
    return settle(calls, call, { outcome: "failed", value: inline(STOPPED) });
  });

const STOPPED = "StoppedWaiting: the run has to stop, so it waits no longer";

const MESSAGES: { readonly [K in MessageBody["kind"]]: Follow<Extract<MessageBody, { readonly kind: K }>> } = {
  child: (calls, { child, status, value, outside }) => {
    const found = calls.children.get(child);
    if (found === undefined) return;
    calls.children.delete(child);
    change(calls, found.call, (open) => {
      const work = joinedWork(open.outside, outside);
      return { ...open, ...(work && { outside: work }) };
    });
    return found.late === "superseded" ? undefined : reported(calls, found, { status, value });
  },
  // The event of its effect follows.
  decision: nothing,
  answer: nothing,
  signal: nothing,
  reconcile: nothing,
  upgrade: nothing,
  assign: nothing,
  compensate: nothing,
  user: nothing,
  userFiles: nothing,
};

type FollowAction = (calls: FollowedCalls, action: Action, why: string) => readonly FollowedSettlement[] | undefined;

const ACTIONS: {
  readonly [K in Action["kind"]]: (
    calls: FollowedCalls,
    action: Extract<Action, { readonly kind: K }>,
    why: string,
  ) => readonly FollowedSettlement[] | undefined;
} = {
  retry: nothing,
  compact: nothing,
  nudge: nothing,
  leaveOut: nothing,
  limitReply: nothing,
  stop: (calls) => {
    calls.isStopping = true;
    return [];
  },
  tryAgain: nothing,
  force: nothing,
  hold: nothing,
  block: nothing,
  warn: nothing,
  intrinsicChanged: nothing,
  takeover: nothing,
  // The call goes on as it is.
  again: nothing,
  probe: nothing,
  abort: (calls) => {
    calls.isEnding = true;
    return settleReports(calls);
  },
  cancel: (calls) => {
    calls.isEnding = true;
    return [...settleReports(calls), ...settleWaits(calls)];
  },
  compensate: (calls) => {
    calls.asksBudget = false;
    const waits = settleWaits(calls);
    // The saga undoes by tools alone: what only a human could undo is not asked about any more.
    const others = [...calls.open.values()].filter(({ undoes }) => undoes === undefined || !calls.undoable.has(undoes));
    const rest = others.flatMap(({ call, status, unbegun, undoes }) => {
      const isUnknown = status === "unknown" && unbegun === undefined && undoes === undefined;
      const value = inline(isUnknown ? UNKNOWN : NEVER_STARTED);
      return settle(calls, call, { outcome: isUnknown ? "unknown" : "failed", value });
    });
    return [...waits, ...rest];
  },
  undo: ({ open }, { call: undoes }) => {
    const call = `undo-${undoes}`;
    open.set(call, { call, tool: "", status: "proposed", undoes });
    return [];
  },
  restart: (calls) => {
    [calls.isEnding, calls.isStopping] = [false, false];
    return [];
  },
  askAgain: (calls, { call }) => {
    if (call === BUDGET) calls.asksBudget = false;
    return change(calls, call, free);
  },
  postpone: (calls, { call, after }) =>
    after === "intent" || after === "retry" ? undefined : change(calls, call, free),
  toolBack: (calls, { call }) =>
    change(calls, call, (open) => (open.unbegun === true ? free(open) : { ...open, status: "started" })),
  tell: (calls, { call }, why) => settle(calls, call, { outcome: "unknown", value: inline(why) }),
};

const UNKNOWN = "nobody knows whether it happened";
const NEVER_STARTED = "NotStarted: the run has to stop; it did not happen";
