/** Which events may happen in which phases. An event in another phase is a bug of cairn and stops the run. */
import type { EventKind } from "./event.ts";
import { PHASE_NAMES, type Phase, isAside, isTerminal, mayFollow } from "./phases.ts";

/** The phases in which a run with open calls waits. */
const WAITING: readonly Phase[] = ["AwaitingApproval", "AwaitingReconcile", "AwaitingChildren"];

/** The phases in which each event may happen. `live`: every phase that is not terminal. */
export const ACCEPTS: { readonly [K in EventKind]: "live" | readonly Phase[] } = {
  RunStarted: ["Preparing"],
  AgentChanged: "live",
  ModelCallCompleted: ["AwaitingLLM", "RetryingLLM", "ForceStop"],
  ModelCallLost: "live",
  BudgetDebited: "live",
  DetachedCallBegun: ["AwaitingLLM", "RetryingLLM"],
  DetachedCallSubmitted: ["AwaitingLLM", "RetryingLLM"],
  DetachedCallEnded: "live",
  Compacted: ["Compacting"],
  ResultSummarised: ["AwaitingLLM", "RetryingLLM"],
  ToolIntended: ["ExecutingTools"],
  // Also where the run waits: the intent of a call that runs alone may leave it nothing to do but to wait for others.
  ApprovalRequested: [
    "ExecutingTools",
    "AwaitingApproval",
    "AwaitingChildren",
    "AwaitingLLM",
    "RetryingLLM",
    "Compacting",
  ],
  HumanApprovalReceived: ["ExecutingTools", "AwaitingApproval", "AwaitingReconcile"],
  DecisionIgnored: "live",
  ToolInvoked: ["ExecutingTools"],
  // A call that waits gets its result in the phase in which its run waits.
  ToolResultRecorded: ["ExecutingTools", ...WAITING],
  ToolCompensated: ["ExecutingTools"],
  // A call that waits for its child is open in each phase of waiting, and its run may be ended there.
  ToolOutcomeUnknown: ["ExecutingTools", ...WAITING, ...PHASE_NAMES.filter(isAside)],
  // Aside: an answer that came there counts, and the run is ended without going on.
  ToolResultReconciled: ["ExecutingTools", "AwaitingReconcile", ...PHASE_NAMES.filter(isAside)],
  MessageAbsorbed: "live",
  WaitBegun: ["ExecutingTools"],
  InputRefused: ["ExecutingTools", ...WAITING],
  InputIgnored: "live",
  ChildDispatched: ["ExecutingTools"],
  ChildStarted: "live",
  ChildSuperseded: ["ExecutingTools", ...WAITING],
  ChildContinued: ["ExecutingTools", ...WAITING],
  ChildResumed: "live",
  ChildAskedToStop: "live",
  ChildNeverMade: "live",
  RunPaused: PHASE_NAMES.filter((phase) => phase !== "Paused" && mayFollow(phase, "Paused")),
  RunResumed: PHASE_NAMES.filter(isAside),
  CheckFailed: ["Reflecting"],
  Recalled: ["AwaitingLLM"],
  ToolsLeftOut: ["AwaitingLLM", "RetryingLLM"],
  RequestChosen: ["AwaitingLLM", "RetryingLLM"],
  Learned: ["Reflecting"],
  CrackSignalled: "live",
  TopologyMoved: ["AwaitingLLM", "RetryingLLM", "Reflecting"],
  RecoveryDecided: "live",
  RunEnded: "live",
  RunRedriven: ["Failed"],
};

export const accepts = (phase: Phase, kind: EventKind): boolean => {
  const phases = ACCEPTS[kind];
  return phases === "live" ? !isTerminal(phase) : phases.includes(phase);
};
