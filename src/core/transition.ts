/**
 * `transition(state, event)`: the only way to derive the next state. It is pure. An event that the current phase does
 * not accept is a bug in cairn and stops the run before anything is committed.
 */
import { sourceOfText } from "./calls/next-message.ts";
import { accepts } from "./accepts.ts";
import { withChangedIntrinsic } from "./policy/changed-intrinsics.ts";
import { add } from "./policy/budget.ts";
import {
  absorbReport,
  applyAskedToStop,
  applyChildResumed,
  applyChildStarted,
  continueChild,
  dispatchChild,
  dropChild,
  settleReports,
  supersede,
  tryAgain,
  withUnknownChild,
  returnAnswer,
} from "../features/children/core.ts";
import { EFFECTS } from "./calls/effects.ts";
import type { Event, EventKind, EventOf, ReplyPart } from "./event.ts";
import { ensure } from "./ensure.ts";
import type { Json } from "./json.ts";
import { inline, text } from "./message.ts";
import { closeGate, openGate, reopenGate } from "../features/approvals/core.ts";
import {
  afterCalls,
  applyAnswer,
  isNext,
  message,
  openCalls,
  replyMessage,
  resultIn,
  settleCall,
  waitsForEarlierCall,
  updateCall,
} from "./calls/open-calls.ts";
import { type Command, type View, lacksTool, nextCommands } from "./outstanding.ts";
import { reconcileWork, workLines, workStands } from "./calls/outside.ts";
import { afterAttempt, permitAgain, postpone } from "./calls/postponed.ts";
import { beginDetached, endDetached, noteDetached } from "../features/detached-calls/core.ts";
import { takeText, withoutModelOut } from "./policy/model-out.ts";
import { endOutage, withRetry } from "./policy/outage.ts";
import { applyChoice } from "./policy/choice.ts";
import { applyLearned, applyRecalled } from "../features/memory/core.ts";
import { mayFollow, mayRedrive } from "./phases.ts";
import { applyRedrive } from "../features/redrive/core.ts";
import { beginCompensation, beginRestart, beginUndo } from "../features/saga/core.ts";
import { beginWait, refuseInput, settleWaits, takeAnswer, takeSignal, heldWait } from "../features/waits/core.ts";
import type { State } from "./state.ts";
import { applyCrack, applyTopologyMove } from "./topologies/moved.ts";
import { assertState } from "./invariants.ts";
import { applyCutReply } from "./policy/cut-replies.ts";
import { withoutCuts } from "./policy/cuts-in-a-row.ts";
import { applyClosingReply, beginStopping } from "./policy/stopping.ts";
import {
  applyAgentChange,
  resumeAfterHold,
  holdForAgent,
  holdForOperator,
  isLacking,
  withoutLack,
} from "../features/upgrades/core.ts";
import { applyResultSummary } from "../features/result-summaries/core.ts";
import { applyCompaction, beginCompaction } from "./policy/window.ts";

export interface Step {
  readonly state: State;
  /** The commands that are outstanding after the event, for the invocation of `view`. */
  readonly commands: readonly Command[];
}

export function transition(state: State, event: Event, view: View): Step {
  const next = fold(state, event);
  return { state: next, commands: nextCommands(next, view) };
}

/** The state after the event. Throws `InvariantViolated` if the phase does not accept the event. */
export function fold(state: State, event: Event): State {
  ensure(accepts(state.phase, event.kind), `${event.kind} does not happen in ${state.phase}`);
  const handler = handlers[event.kind] as (state: State, event: Event) => State;
  const next = handler(state, event);
  const mayGo = event.kind === "RunRedriven" ? mayRedrive : mayFollow;
  ensure(mayGo(state.phase, next.phase), `${next.phase} does not follow ${state.phase}`);
  assertState(state, next);
  return next;
}

export const foldAll = (state: State, events: readonly Event[]): State => events.reduce(fold, state);

type Handlers = { readonly [K in EventKind]: (state: State, event: EventOf<K>) => State };

const handlers: Handlers = {
  RunStarted: (state, event) => ({
    ...(event.agentVersion === state.agentVersion ? state : applyAgentChange(state, { to: event.agentVersion })),
    phase: "AwaitingLLM",
    agentVersion: event.agentVersion,
    startedAt: event.at,
    ...(event.deadline === undefined ? {} : { deadline: event.deadline }),
  }),

  AgentChanged: applyAgentChange,
  ModelCallCompleted: (state, event) => {
    if (state.phase === "ForceStop") return applyClosingReply(state, event);
    if (event.cut !== undefined) return withoutModelOut(applyCutReply(state, event), event.at);
    const open = openCalls(state, event.parts);
    const spoken = wordy(event.parts);
    const replied = {
      ...endOutage(withoutCuts(state), event.at),
      calls: state.calls + open.length,
      open,
      modelRetries: 0,
      nudges: open.length > 0 ? 0 : state.nudges,
      retryAt: null,
      messages: event.parts.length === 0 ? state.messages : [...state.messages, replyMessage(state, event)],
    };
    const phase = open.length > 0 ? "ExecutingTools" : spoken ? "Reflecting" : "AwaitingLLM";
    return withoutModelOut({ ...replied, phase }, event.at);
  },

  ModelCallLost: (state, { closing }) => (closing === undefined ? state : { ...state, closingCallLost: closing }),

  BudgetDebited: (state, event) => ({ ...state, spent: add(state.spent, event.debit) }),

  DetachedCallBegun: beginDetached,
  DetachedCallSubmitted: noteDetached,
  DetachedCallEnded: endDetached,
  Compacted: applyCompaction,
  ResultSummarised: applyResultSummary,
  ToolIntended: (state, { kind: _, at: _at, call, ...intent }) =>
    afterCalls(
      updateCall(state, call, (open) => {
        ensure(isNext(open), `call ${call} is ${open.status} already`);
        const { agentChanged: _changed, ...rest } = open;
        return { ...rest, intent };
      }),
    ),

  ApprovalRequested: openGate,
  HumanApprovalReceived: closeGate,
  DecisionIgnored: (state, { kind: _, ...ignoredDecision }) => ({ ...state, ignoredDecision }),

  ToolInvoked: (state, { call, epoch, before }) =>
    updateCall(state, call, (open) => {
      ensure(open.intent !== null, `call ${call} is started without an intent`);
      ensure(open.status !== "unknown", `call ${call} is unknown: only a reconciliation releases it again`);
      ensure(open.status !== "gated", `call ${call} waits at a gate`);
      ensure(!waitsForEarlierCall(state.open, open), `call ${call} waits for an earlier call`);
      const { mayRepeat } = EFFECTS[open.intent.effect];
      ensure(open.releasedBy === null || mayRepeat, `unsafe call ${call} is released twice`);
      const image = before === undefined ? {} : { before };
      return { ...open, status: "started", releasedBy: epoch, probeAt: null, ...image };
    }),

  ToolResultRecorded: (state, { call, outcome, value, files, at }) => {
    const waits = state.open.some((open) => open.call === call && heldWait(open) !== undefined);
    ensure(waits || state.phase === "ExecutingTools", `call ${call} gets no result in ${state.phase}`);
    return settleCall(state, call, { outcome, value, files, at });
  },

  ToolCompensated: (state, { call, value, at }) => settleCall(state, call, { outcome: "succeeded", value, at }),

  ToolOutcomeUnknown: (state, event) => {
    const { call, why, reconcilableFrom, toolGone = false, onUnknown = "ask", unbegun, restored, approval, at } = event;
    if (reconcilableFrom === null) return settleCall(state, call, { outcome: "unknown", value: inline(why), at });
    return afterCalls(
      updateCall(state, call, ({ approval: _, ...open }) => ({
        ...withUnknownChild(open),
        status: "unknown",
        timesUnknown: open.timesUnknown + 1,
        reconcilableFrom,
        probeAt: null,
        ...(toolGone || open.toolGone === true ? { toolGone } : {}),
        ...(onUnknown !== "ask" || open.onUnknown !== undefined ? { onUnknown } : {}),
        ...(unbegun === undefined ? {} : { unbegun: why }),
        ...(restored === undefined ? {} : { restored }),
        ...(approval === undefined ? {} : { approval }),
      })),
    );
  },

  ToolResultReconciled: (state, event) => whereItStood(state, (stood) => reconciled(stood, event)),

  MessageAbsorbed: (state, event) => {
    if (event.stage === "cleared") {
      return { ...state, absorbed: state.absorbed.filter((id) => id !== event.message) };
    }
    ensure(!state.absorbed.includes(event.message), `message ${event.message} is absorbed twice`);
    const taken = { ...state, absorbed: [...state.absorbed, event.message] };
    if ("text" in event.body)
      return takeText(taken, event.body, { at: event.at, source: sourceOfText(event.message, event.body.by) });
    if (event.body.kind === "child") return absorbReport(taken, event.body, event.at);
    if (event.body.kind === "answer") return takeAnswer(taken, event.body);
    if (event.body.kind === "signal") return takeSignal(taken, event.body);
    return applyAnswer(taken, event.body);
  },

  WaitBegun: beginWait,
  InputRefused: refuseInput,
  InputIgnored: (state) => state,
  ChildDispatched: dispatchChild,
  ChildStarted: applyChildStarted,
  ChildSuperseded: supersede,
  ChildContinued: continueChild,
  ChildResumed: applyChildResumed,
  ChildAskedToStop: applyAskedToStop,
  ChildNeverMade: dropChild,

  RunPaused: (state) => ({ ...state, phase: "Paused", pausedFrom: state.pausedFrom ?? state.phase }),

  // A run that waited for its agent before the pause still waits for it.
  RunResumed: (state) =>
    state.phase === "Paused" && isLacking(state) ? { ...state, phase: "AwaitingAgent" } : resumeAfterHold(state),

  CheckFailed: (state, { isAnswer, why }) => (isAnswer === true ? returnAnswer(state, why) : state),
  Recalled: applyRecalled,
  RequestChosen: applyChoice,
  ToolsLeftOut: ({ leftOutTools: _, ...state }, { digest }) =>
    digest === "" ? state : { ...state, leftOutTools: digest },
  Learned: applyLearned,
  CrackSignalled: applyCrack,
  TopologyMoved: applyTopologyMove,

  RecoveryDecided: (state, { action, why, at }) => {
    switch (action.kind) {
      case "retry":
        return withRetry(state, action);
      case "compact":
        return beginCompaction(state, action);
      case "nudge":
        return {
          ...endOutage(state, at),
          phase: "AwaitingLLM",
          nudges: state.nudges + (action.isCut === true ? 0 : 1),
          messages: [...state.messages, message(state, at, "cairn", "user", [text(action.text)])],
        };
      case "stop":
        return beginStopping(state, { ...action, at });
      case "abort":
        return { ...settleReports(state, at), ending: { ...action, kind: "failed" } };
      case "tryAgain":
        return tryAgain(state, action, at);
      case "force":
        ensure(state.ending !== null, "only a decided end is forced");
        return { ...state, ending: { ...state.ending, forced: true } };
      case "cancel":
        return { ...settleWaits(settleReports(state, at), at), ending: { kind: "cancelled" } };
      case "compensate":
        return beginCompensation(state, at);
      case "undo":
        return beginUndo(state, action.call);
      case "restart":
        return beginRestart(state, { say: action.text, at });
      case "probe":
        return updateCall(state, action.call, (open) => ({
          ...(action.tried ? afterAttempt(open) : open),
          probeAt: action.at,
          ...(action.restored === undefined ? {} : { restored: action.restored }),
        }));
      case "again":
        return updateCall(state, action.call, afterAttempt);
      case "askAgain":
        return reopenGate(state, action);
      case "postpone":
        return postpone(state, action);
      case "tell": {
        const { status } = state.open.find(({ call }) => call === action.call) ?? {};
        ensure(status === "unknown", `call ${action.call} is not unknown`);
        return settleCall(state, action.call, { outcome: "unknown", value: inline(why), at });
      }
      case "hold":
        return holdForAgent(state, action.to === null ? { kind: "agent", why } : { kind: "upgrade", to: action.to });
      case "block":
        return holdForOperator(state, action);
      case "intrinsicChanged":
        return withChangedIntrinsic(state, action.changed);
      case "leaveOut":
        return { ...state, leavesOut: true };
      case "limitReply":
        return { ...state, replyTokensMax: action.tokensMax };
      case "warn":
        return action.expiresAt === null ? state : { ...state, warnedOf: action.expiresAt };
      case "toolBack":
        return afterCalls(
          updateCall(state, action.call, (open) => {
            ensure(lacksTool(open), `call ${action.call} waits for no tool`);
            if (open.unbegun !== undefined) return { ...permitAgain(open), toolGone: false };
            return { ...open, status: "started", toolGone: false, reconcilableFrom: null };
          }),
        );
      case "takeover":
        return state;
    }
  },

  RunEnded: (state, event) => {
    const ended: State = { ...state, ...withoutLack(state), ending: null, pausedFrom: null };
    if (event.status === "completed") return { ...ended, phase: "Completed", ...resultIn(event) };
    if (event.status === "cancelled") return { ...ended, phase: "Cancelled" };
    const { failure, from } = event;
    return { ...ended, phase: "Failed", failure, ...(from === undefined ? {} : { failedFrom: from }) };
  },

  RunRedriven: applyRedrive,
};

/** The change of a run that stands aside: it is changed as if it stood where it returns to. */
function whereItStood(state: State, change: (stood: State) => State): State {
  if (state.pausedFrom === null) return change(state);
  const changed = change({ ...state, phase: state.pausedFrom, pausedFrom: null });
  return { ...changed, phase: state.phase, pausedFrom: changed.phase };
}

function reconciled(state: State, { call, answer, evidence, at }: EventOf<"ToolResultReconciled">): State {
  const unknown = state.open.find(
    (open) => open.call === call && (open.status === "unknown" || open.probeAt !== null || evidence !== undefined),
  );
  ensure(unknown !== undefined, `the outcome of call ${call} is not in question`);
  ensure(answer.as !== "compensate", "a compensation is not the outcome of a call");
  const known = reconcileWork(state, unknown, answer.as === "succeeded");
  if (answer.as !== "retry") {
    const said = inline(withWork(answer.note ?? `a person says that it ${answer.as}`, known, call));
    return settleCall(known, call, { outcome: answer.as, value: answer.value ?? said, files: answer.files, at });
  }
  return afterCalls(updateCall(known, call, permitAgain));
}

/** Of a hand-off the model also learns what its child runs did. */
function withWork(said: string, { open }: State, call: string): Json {
  const { outside } = open.find((each) => each.call === call) ?? {};
  return outside === undefined || !workStands(outside) ? said : { said, done: [...workLines(outside)] };
}

const wordy = (parts: readonly ReplyPart[]): boolean =>
  parts.some((part) => part.kind === "file" || (part.kind === "text" && part.text.trim() !== ""));
