/** How each event of the kernel changes the state, and in which phases it may happen. Those of features are theirs. */
import type { EventRows, KernelEventKind } from "./features.ts";
import { add } from "./policy/budget.ts";
import { EFFECTS } from "./calls/effects.ts";
import { ensure } from "./ensure.ts";
import type { Json } from "./json.ts";
import { inline } from "./message.ts";
import {
  afterCalls,
  isNext,
  openCalls,
  replyMessage,
  resultIn,
  settleCall,
  waitsForEarlierCall,
  updateCall,
} from "./calls/open-calls.ts";
import { reconcileWork, workLines, workStands } from "./calls/outside.ts";
import { permitAgain } from "./calls/postponed.ts";
import { withoutModelOut } from "./policy/model-out.ts";
import { endOutage } from "./policy/outage.ts";
import { mayFollow, ASIDE_PHASES, PHASE_NAMES, WAITING_PHASES } from "./phases.ts";
import type { State } from "./state.ts";
import { applyCrack, applyTopologyMove } from "./topologies/moved.ts";
import { withoutCuts } from "./policy/cuts-in-a-row.ts";
import { applyClosingReply } from "./policy/stopping.ts";
import { applyCompaction } from "./policy/window.ts";
import type { EventOf, ReplyPart } from "./event.ts";
import { isLacking, applyAgentChange, resumeAfterHold, withoutLack } from "./policy/holds.ts";
import { heldWait } from "./calls/held-calls.ts";
import { withUnknownChild } from "./calls/held-ends.ts";
import { returnAnswer } from "./policy/expected-answer.ts";
import type { ChoiceEvents } from "./choice.ts";

export const KERNEL_EVENTS: EventRows<Exclude<KernelEventKind, "MessageAbsorbed" | "RecoveryDecided">> = {
  RunStarted: {
    in: ["Preparing"],
    apply: (state, event) => ({
      ...(event.agentVersion === state.agentVersion ? state : applyAgentChange(state, { to: event.agentVersion })),
      phase: "AwaitingLLM",
      agentVersion: event.agentVersion,
      startedAt: event.at,
      ...(event.deadline === undefined ? {} : { deadline: event.deadline }),
    }),
  },
  AgentChanged: { in: "live", apply: applyAgentChange },
  ModelCallCompleted: {
    in: ["AwaitingLLM", "RetryingLLM", "ForceStop"],
    apply: (state, event) => {
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
  },
  ModelCallLost: {
    in: "live",
    apply: (state, { closing }) => (closing === undefined ? state : { ...state, closingCallLost: closing }),
  },
  BudgetDebited: { in: "live", apply: (state, event) => ({ ...state, spent: add(state.spent, event.debit) }) },
  Compacted: { in: ["Compacting"], apply: applyCompaction },
  ToolIntended: {
    in: ["ExecutingTools"],
    apply: (state, { kind: _, at: _at, call, ...intent }) =>
      afterCalls(
        updateCall(state, call, (open) => {
          ensure(isNext(open), `call ${call} is ${open.status} already`);
          const { agentChanged: _changed, ...rest } = open;
          return { ...rest, intent };
        }),
      ),
  },
  ToolInvoked: {
    in: ["ExecutingTools"],
    apply: (state, { call, epoch, before }) =>
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
  },
  // A call that waits gets its result in the phase in which its run waits.
  ToolResultRecorded: {
    in: ["ExecutingTools", ...WAITING_PHASES],
    apply: (state, { call, outcome, value, files, at }) => {
      const waits = state.open.some((open) => open.call === call && heldWait(open) !== undefined);
      ensure(waits || state.phase === "ExecutingTools", `call ${call} gets no result in ${state.phase}`);
      return settleCall(state, call, { outcome, value, files, at });
    },
  },
  ToolCompensated: {
    in: ["ExecutingTools"],
    apply: (state, { call, value, at }) => settleCall(state, call, { outcome: "succeeded", value, at }),
  },
  // A call that waits for its child is open in each phase of waiting, and its run may be ended there.
  ToolOutcomeUnknown: {
    in: ["ExecutingTools", ...WAITING_PHASES, ...ASIDE_PHASES],
    apply: (state, event) => {
      const {
        call,
        why,
        reconcilableFrom,
        toolGone = false,
        onUnknown = "ask",
        unbegun,
        restored,
        approval,
        at,
      } = event;
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
  },
  // Aside: an answer that came there counts, and the run is ended without going on.
  ToolResultReconciled: {
    in: ["ExecutingTools", "AwaitingReconcile", ...ASIDE_PHASES],
    apply: (state, event) => whereItStood(state, (stood) => reconciled(stood, event)),
  },
  RunPaused: {
    in: PHASE_NAMES.filter((phase) => phase !== "Paused" && mayFollow(phase, "Paused")),
    apply: (state) => ({ ...state, phase: "Paused", pausedFrom: state.pausedFrom ?? state.phase }),
  },
  // A run that waited for its agent before the pause still waits for it.
  RunResumed: {
    in: ASIDE_PHASES,
    apply: (state) =>
      state.phase === "Paused" && isLacking(state) ? { ...state, phase: "AwaitingAgent" } : resumeAfterHold(state),
  },
  CheckFailed: {
    in: ["Reflecting"],
    apply: (state, { isAnswer, why }) => (isAnswer === true ? returnAnswer(state, why) : state),
  },
  RequestChosen: { in: ["AwaitingLLM", "RetryingLLM"], apply: applyChoice },
  ToolsLeftOut: {
    in: ["AwaitingLLM", "RetryingLLM"],
    apply: ({ leftOutTools: _, ...state }, { digest }) => (digest === "" ? state : { ...state, leftOutTools: digest }),
  },
  CrackSignalled: { in: "live", apply: applyCrack },
  TopologyMoved: { in: ["AwaitingLLM", "RetryingLLM", "Reflecting"], apply: applyTopologyMove },
  RunEnded: {
    in: "live",
    apply: (state, event) => {
      const ended: State = { ...state, ...withoutLack(state), ending: null, pausedFrom: null };
      if (event.status === "completed") return { ...ended, phase: "Completed", ...resultIn(event) };
      if (event.status === "cancelled") return { ...ended, phase: "Cancelled" };
      const { failure, from } = event;
      return { ...ended, phase: "Failed", failure, ...(from === undefined ? {} : { failedFrom: from }) };
    },
  },
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

/** How the events about choices change the state. A run that stops is judged as after a reply without calls. */
function applyChoice(state: State, { choice, stop }: ChoiceEvents["RequestChosen"]): State {
  const { restart, agentVersion, messages } = state;
  return {
    ...state,
    ...(stop === undefined ? {} : { phase: "Reflecting", retryAt: null }),
    chosen: { choice, restart, agentVersion, messages: messages.length },
  };
}

/**
 * Replies that a limit cut. The judgement is made before a reply is recorded, so a reply that was recorded as whole
 * stays whole. A cut reply plans nothing: its calls are not in the event. Its text stays, and the model goes on with
 * it.
 */
function applyCutReply(state: State, event: EventOf<"ModelCallCompleted">): State {
  const messages = event.parts.length === 0 ? state.messages : [...state.messages, replyMessage(state, event)];
  const cutReplies = (state.cutReplies ?? 0) + 1;
  return { ...endOutage(state, event.at), phase: "AwaitingLLM", modelRetries: 0, retryAt: null, messages, cutReplies };
}
