/**
 * States, events and rows for tests: complete and valid, with changes only where a test needs them.
 */
import { foldAll } from "../../../src/features/compose.ts";
import { createHash } from "node:crypto";
import type { HumanDecision } from "../../../src/core/approval.ts";
import type { Answer, Event, EventKind, EventOf, ReplyPart, Action } from "../../../src/core/event.ts";
import type { Hash } from "../../../src/core/ids.ts";
import type { Json } from "../../../src/core/json.ts";
import { inline } from "../../../src/core/message.ts";
import type { View } from "../../../src/core/outstanding.ts";
import { type Phase, isAside } from "../../../src/core/phases.ts";
import { type Row, newRow } from "../../../src/protocol/row.ts";
import type { OpenCall, State } from "../../../src/core/state.ts";
import { initialState } from "../../../src/engine/context/new-run.ts";
import { KERNEL } from "../../../src/features/compose.ts";
import { RESULT_SUMMARIES_EVENTS } from "./result-summaries.ts";
import { CHILD_EVENTS } from "./child-events.ts";
import { DETACHED_EVENTS } from "./detached-events.ts";
import { CHOICE_EVENTS } from "./choice-events.ts";
import { MEMORY_EVENTS } from "./memory-events.ts";
import { WAIT_EVENTS } from "./wait-events.ts";

export const AT = 1_700_000_000_000;
export const RUN = `local-${"a".repeat(26)}`;
export const BORN = "b".repeat(10);
export const SHA = "0".repeat(64);

export const EVENT_KINDS = Object.keys(KERNEL.rows) as readonly EventKind[];

export const hash: Hash = (text) => createHash("sha256").update(text).digest("hex");

export const view = (change: Partial<View> = {}): View => ({
  ...{ now: AT, epoch: 1, effectsSettleAt: 0, cancel: false, pause: false, looked: false },
  ...change,
});

export const newState = (task: Json = { to: "Lisbon" }): State =>
  initialState({
    ...{ run: RUN, born: BORN, agent: "travel", agentVersion: "1", takeoversMax: 10, upgrade: "follow", at: AT },
    ...{ task: inline(task), taskText: JSON.stringify(task) },
  });

export const stateAfter = (...events: readonly Event[]): State => foldAll(newState(), events);

const startedEvent: EventOf<"RunStarted"> = { kind: "RunStarted", at: AT, agentVersion: "1" };

function replied(parts: readonly ReplyPart[], at = AT): EventOf<"ModelCallCompleted"> {
  return {
    kind: "ModelCallCompleted",
    at,
    model: "test:m",
    parts,
    finish: "stop",
    tokensIn: 9,
    tokensOut: 5,
    tookMs: 7,
  };
}

export const textPart = (text: string): ReplyPart => ({ kind: "text", text });

export const callPart = (tool: string, args: Json = {}): ReplyPart => ({
  kind: "call",
  tool,
  args: inline(args),
  provider: null,
});

type Effect = NonNullable<OpenCall["intent"]>["effect"];

const intended = (call: string, effect: Effect = "keyed"): Event => ({
  kind: "ToolIntended",
  at: AT,
  call,
  effect,
  key: `key-${call}`,
  argsDigest: SHA,
});

const invoked = (call: string, epoch = 1): Event => ({ kind: "ToolInvoked", at: AT, call, epoch });

const resulted = (call: string, json: Json = "fine", at = AT): Event => ({
  kind: "ToolResultRecorded",
  at,
  call,
  outcome: "succeeded",
  value: inline(json),
  externalId: null,
  evidence: "the tool returned",
});

const outcomeLost = (call: string, reconcilableFrom: number | null = AT): Event => ({
  kind: "ToolOutcomeUnknown",
  at: AT,
  call,
  why: "no answer",
  reconcilableFrom,
});

export const answer = (as: Answer["as"], json: Json = null) => ({
  as,
  value: json === null ? null : inline(json),
  by: "ada",
  note: null,
});

const answerTaken = (call: string, asked = 1, given = answer("retry")): Event => ({
  kind: "MessageAbsorbed",
  at: AT,
  stage: "taken",
  message: `reconcile#${call}#${asked}`,
  body: { kind: "reconcile", call, question: asked, answer: given },
});

const messageReceived = (words: string, id = "u1"): Event => ({
  kind: "MessageAbsorbed",
  at: AT,
  stage: "taken",
  message: `user#${id}`,
  body: { kind: "user", text: words, by: "ada" },
});

const paused: Event = { kind: "RunPaused", at: AT };
const resumed: Event = { kind: "RunResumed", at: AT };

const reconciled = (call: string, given = answer("retry")): Event => ({
  kind: "ToolResultReconciled",
  at: AT,
  call,
  answer: given,
});

const decided = (action: Action): Event => ({ kind: "RecoveryDecided", at: AT, rule: "r", why: "w", action });

/** A run that waits for that version to be accepted, or for its agent. */
const holdDecided = (to: string | null): Event => decided({ kind: "hold", to });

export const FAILURE = { code: "Broken", message: "it broke" };
const abortDecided = decided({ kind: "abort", failure: FAILURE });
const stopDecided = decided({ kind: "stop", failure: FAILURE, text: "You have to stop now." });
const compactDecided = decided({ kind: "compact" });

/** A compaction of the first reply and its result, after `state`. */
const compacted = ({ messages }: State, from = 3): EventOf<"Compacted"> => ({
  ...{ kind: "Compacted", at: AT, summary: "It is booked.", tokens: 4, why: "it was too long" },
  window: { from, lead: [`m${messages.length + 1}`] },
  replaced: { from: "m2", to: `m${from}`, messages: from - 1, digest: SHA },
});

const cancelled: Event = { kind: "RunEnded", at: AT, status: "cancelled" };
const completed: Event = { kind: "RunEnded", at: AT, status: "completed", result: inline("done") };
const failed: Event = { kind: "RunEnded", at: AT, status: "failed", failure: FAILURE };

/** The end of a run that may be redriven, from that phase. */
const modelUnavailable = (phase: Phase, started: readonly string[] = []): readonly Event[] => {
  const failure = { code: "ModelUnavailable", message: "no model answered" };
  return [
    decided({ kind: "abort", failure }),
    { kind: "RunEnded", at: AT, status: "failed", failure, from: { phase, started } },
  ];
};

const redriven: EventOf<"RunRedriven"> = {
  ...{ kind: "RunRedriven", at: AT, id: "r1", by: "ada", why: "it is back" },
  failure: { code: "ModelUnavailable", message: "no model answered" },
};

export const GATE_UNTIL = AT + 5_000;

const gateOpened = (call: string): Event => ({
  ...{ kind: "ApprovalRequested", at: AT, gate: `gate-${call}`, call, planHash: SHA, argsHash: SHA },
  ...{ reason: "it costs money", expiresAt: GATE_UNTIL },
});

/** The budget is exhausted, and an operator is asked for more. */
const budgetRequested = (change: Partial<EventOf<"ApprovalRequested">> = {}): EventOf<"ApprovalRequested"> => ({
  ...{ kind: "ApprovalRequested", at: AT, gate: "budget-1", call: "budget", planHash: SHA, argsHash: SHA },
  ...{ reason: "2 of 2 beats are used", expiresAt: GATE_UNTIL },
  budget: { limits: { beats: 2, microUsd: null, tokens: null, wallMs: null, toolCalls: null }, calls: 0 },
  ...change,
});

export const decision = (as: HumanDecision["as"], json: Json = null): HumanDecision => ({
  as,
  args: as === "edit" ? inline(json) : null,
  by: "ada",
  note: null,
});

const approved = (call: string, given = decision("approve")): Event => ({
  kind: "HumanApprovalReceived",
  at: AT,
  gate: `gate-${call}`,
  call,
  decision: given,
});

/** A decision arrived and is not applied yet. */
const decisionTaken = (call: string, given = decision("approve")): Event => ({
  kind: "MessageAbsorbed",
  at: AT,
  stage: "taken",
  message: `gate#gate-${call}`,
  body: { kind: "decision", gate: `gate-${call}`, decision: given },
});

/** Builders of events, one for each thing that a run may record. */
export const EVENT = {
  started: startedEvent,
  replied,
  intended,
  invoked,
  resulted,
  outcomeLost,
  answerTaken,
  messageReceived,
  paused,
  resumed,
  reconciled,
  decided,
  holdDecided,
  abortDecided,
  stopDecided,
  compactDecided,
  compacted,
  cancelled,
  completed,
  failed,
  modelUnavailable,
  redriven,
  gateOpened,
  budgetRequested,
  approved,
  decisionTaken,
  ...CHILD_EVENTS,
  ...DETACHED_EVENTS,
  ...CHOICE_EVENTS,
  ...MEMORY_EVENTS,
  ...RESULT_SUMMARIES_EVENTS,
  ...WAIT_EVENTS,
};

/** One call of each status: c1 proposed, c2 intended, c3 started by epoch 1, c4 unknown, c5 gated. */
export const withCalls = (): State =>
  stateAfter(
    startedEvent,
    replied(["first", "second", "third", "fourth", "fifth"].map((tool) => callPart(tool))),
    ...[intended("c2"), intended("c3"), invoked("c3"), intended("c4", "unsafe"), invoked("c4"), outcomeLost("c4")],
    ...[intended("c5"), gateOpened("c5")],
  );

/** A call that runs alone, so that later calls wait for it. */
const alone = (call: string): Event => ({ ...intended(call), alone: true }) as Event;

/** c1 unknown, c2 at a gate. */
const blocked = (): State =>
  stateAfter(
    ...[startedEvent, replied([callPart("book"), callPart("pay")]), intended("c1", "unsafe"), invoked("c1")],
    ...[intended("c2"), gateOpened("c2"), outcomeLost("c1", AT + 9)],
  );

/** c1 at a gate, c2 waits for it. */
const approving = (): State =>
  stateAfter(startedEvent, replied([callPart("book"), callPart("pay")]), alone("c1"), gateOpened("c1"), intended("c2"));

/** c1 and c2 wait for children, and that of c1 exists. */
const dispatching = (): State =>
  stateAfter(
    ...[startedEvent, replied([callPart("ask"), callPart("ask")]), intended("c1"), intended("c2")],
    ...[EVENT.dispatched("c1"), EVENT.dispatched("c2"), EVENT.child("ChildStarted")],
  );

/** A state of each phase, reached by events. */
export const IN_PHASE: { readonly [P in Phase]: () => State } = {
  Preparing: () => newState(),
  AwaitingLLM: () => stateAfter(startedEvent),
  RetryingLLM: () =>
    stateAfter(startedEvent, decided({ kind: "retry", at: AT + 1_000, outage: { since: AT, attempts: 1 } })),
  ExecutingTools: withCalls,
  AwaitingApproval: approving,
  Reflecting: () => stateAfter(startedEvent, replied([textPart("done")])),
  Compacting: () =>
    foldAll(stateAfter(startedEvent, replied([callPart("book")])), [
      intended("c1"),
      invoked("c1"),
      resulted("c1"),
      compactDecided,
    ]),
  ForceStop: () => stateAfter(startedEvent, stopDecided),
  AwaitingReconcile: blocked,
  AwaitingChildren: dispatching,
  Paused: () => foldAll(withCalls(), [paused]),
  AwaitingAgent: () => foldAll(withCalls(), [holdDecided("2")]),
  Completed: () => stateAfter(startedEvent, replied([textPart("done")]), completed),
  Failed: () => stateAfter(startedEvent, ...modelUnavailable("AwaitingLLM")),
  Cancelled: () => stateAfter(startedEvent, decided({ kind: "cancel" }), cancelled),
};

/** An event of each kind, valid in the state of its phase above. */
export function eventOf(kind: EventKind, phase: Phase): Event {
  const isMany = phase === "ExecutingTools" || isAside(phase);
  const unknown = isMany ? "c4" : "c1";
  const events: { readonly [K in EventKind]: Event } = {
    RunStarted: startedEvent,
    AgentChanged: { kind: "AgentChanged", at: AT, from: "1", to: "2" },
    ModelCallCompleted: replied([textPart("hello"), callPart("book")]),
    ModelCallLost: { kind: "ModelCallLost", at: AT, calls: 1, why: "its process ended" },
    BudgetDebited: { kind: "BudgetDebited", at: AT, debit: { microUsd: 3 }, for: "test" },
    DetachedCallBegun: EVENT.detachedBegun(),
    DetachedCallSubmitted: EVENT.detachedSubmitted,
    DetachedCallEnded: EVENT.detachedEnded,
    Compacted: compacted(IN_PHASE.Compacting()),
    ToolIntended: intended("c1"),
    ApprovalRequested: phase === "ExecutingTools" ? gateOpened("c2") : budgetRequested(),
    HumanApprovalReceived: approved(isMany ? "c5" : phase === "AwaitingReconcile" ? "c2" : "c1"),
    DecisionIgnored: { kind: "DecisionIgnored", at: AT, gate: "c1-gate", as: "approve", by: "ada", why: "it ended" },
    ToolInvoked: invoked("c2"),
    ToolResultRecorded: resulted(phase === "ExecutingTools" ? "c3" : "c8"),
    ToolCompensated: {
      kind: "ToolCompensated",
      at: AT,
      call: "c3",
      value: inline(null),
      evidence: "the undo returned",
    },
    ToolOutcomeUnknown: outcomeLost(isMany ? "c3" : phase === "AwaitingApproval" ? "c2" : "c1"),
    ToolResultReconciled: reconciled(unknown),
    MessageAbsorbed: answerTaken(unknown),
    WaitBegun: EVENT.waitBegun("c2"),
    InputRefused: EVENT.inputRefused("c8"),
    InputIgnored: EVENT.inputIgnored,
    ChildDispatched: EVENT.dispatched("c2"),
    ChildStarted: EVENT.child("ChildStarted"),
    ChildSuperseded: EVENT.child("ChildSuperseded"),
    ChildContinued: EVENT.continued("c1"),
    ChildResumed: EVENT.child("ChildResumed"),
    ChildAskedToStop: EVENT.child("ChildAskedToStop"),
    ChildNeverMade: EVENT.child("ChildNeverMade"),
    RunPaused: paused,
    RunResumed: resumed,
    CheckFailed: { kind: "CheckFailed", at: AT, check: "has-ticket", why: "none" },
    ResultSummarised: EVENT.summarised,
    Recalled: EVENT.recalled,
    RequestChosen: EVENT.chose,
    ToolsLeftOut: EVENT.leftOut,
    Learned: EVENT.learned,
    CrackSignalled: {
      ...{ kind: "CrackSignalled", at: AT, crack: "runaway", why: "it goes in circles", times: 1, section: 0 },
    },
    TopologyMoved: {
      ...{ kind: "TopologyMoved", at: AT, topology: "pipeline", progress: {}, role: "write" },
      ...{ where: "stage 1 of 2, write", note: "begins", text: "Write.", section: true },
    },
    RecoveryDecided: abortDecided,
    RunEnded: failed,
    RunRedriven: redriven,
  };
  return events[kind];
}

export const row = (change: Partial<Row> = {}): Row => ({
  ...newRow({
    ...{ run: RUN, born: BORN, parent: null, tenant: "local", agent: "travel", agentVersion: "1", inputDigest: SHA },
    ...{ snapshot: { version: 0, key: "s0", digest: SHA }, now: AT, deadline: AT + 1_000_000 },
  }),
  ...change,
});
