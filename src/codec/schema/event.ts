/** The schema of events, of what they carry, and of messages to a run, as `core/event.ts` has them; see `state.ts`. */
import * as z from "zod";
import { MENDS_NAMES } from "../../core/policy/mends.ts";
import { EFFECT_NAMES } from "../../core/calls/effects.ts";
import type { ChangedIntrinsic } from "../../core/changed-intrinsic.ts";
import { CRACK_NAMES } from "../../core/crack.ts";
import type { FailedSummaries } from "../../core/failed-summaries.ts";
import type { HumanDecision } from "../../core/approval.ts";
import type {
  Action,
  Answer,
  CommitRecord,
  Event,
  EventKind,
  EventOf,
  Failure,
  MessageBody,
  Outage,
} from "../../core/event.ts";
import type { FailedFrom } from "../../core/failed-from.ts";
import { PHASE_NAMES, type Phase } from "../../core/phases.ts";
import { asksFor, debit, grant, price } from "./budget.ts";
import { childEvents, childReport } from "./child.ts";
import { nearLimit, fileRef, files, json, parsedArgs, replyPart, request, routed, sha, value } from "./message.ts";
import { detachedCallEvents } from "./detached-call.ts";
import { choiceEvents } from "./choice.ts";
import { leftOutEvents } from "./left-out.ts";
import { memoryEvents } from "./memory.ts";
import { resultSummarised } from "./result-summary.ts";
import { runStarted } from "./run-started.ts";
import { answerGiven, eventSignalled, waitEvents } from "./wait.ts";

const at = z.int().nonnegative();
const count = z.int().nonnegative();
const name = z.string().min(1);
export const effect = z.enum(EFFECT_NAMES);
export const onUnknown = z.enum(["ask", "tell", "fail", "compensate"]);
export const phase = z.custom<Phase>((value) => PHASE_NAMES.includes(value as Phase));

export const failure: z.ZodType<Failure> = z.looseObject({ code: name, message: z.string() });

export const outage: z.ZodType<Outage> = z.looseObject({
  since: at,
  attempts: count,
  notBefore: at.exactOptional(),
  model: count.exactOptional(),
  alarmed: z.literal(true).exactOptional(),
});

export const failedSummaries: z.ZodType<FailedSummaries> = z.looseObject({
  attempts: count,
  isLeft: z.literal(true).exactOptional(),
});

export const changedIntrinsic: z.ZodType<ChangedIntrinsic> = z.looseObject({
  intrinsic: name,
  tool: name.nullable(),
  epoch: count,
});

/** `ToMend`. */
export const toMend = { mends: z.enum(MENDS_NAMES), failure } as const;

const action: z.ZodType<Action> = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("retry"), at, outage }),
  z.looseObject({ kind: z.literal("compact"), at: at.exactOptional(), failed: failedSummaries.exactOptional() }),
  z.looseObject({ kind: z.literal("nudge"), text: z.string(), isCut: z.literal(true).exactOptional() }),
  z.looseObject({ kind: z.literal("leaveOut") }),
  z.looseObject({ kind: z.literal("limitReply"), tokensMax: z.int().positive() }),
  z.looseObject({ kind: z.literal("stop"), failure, text: z.string() }),
  z.looseObject({
    kind: z.literal("abort"),
    failure,
    next: z.enum(["end", "leave"]).exactOptional(),
    forced: z.literal(true).exactOptional(),
    restarts: z.literal(true).exactOptional(),
  }),
  z.looseObject({
    kind: z.literal("tryAgain"),
    failure,
    try: z.int().min(2),
    tries: z.int().min(2),
    text: z.string().exactOptional(),
  }),
  z.looseObject({ kind: z.literal("force") }),
  z.looseObject({ kind: z.literal("compensate") }),
  z.looseObject({ kind: z.literal("undo"), call: name }),
  z.looseObject({ kind: z.literal("restart"), text: z.string() }),
  z.looseObject({ kind: z.literal("again"), call: name }),
  z.looseObject({ kind: z.literal("probe"), call: name, at, tried: z.boolean(), restored: at.exactOptional() }),
  z.looseObject({ kind: z.literal("hold"), to: name.nullable() }),
  z.looseObject({ kind: z.literal("block"), ...toMend }),
  z.looseObject({
    kind: z.literal("postpone"),
    call: name,
    after: z.enum(["intent", "release", "retry", "probe"]),
    missed: z.literal(true).exactOptional(),
  }),
  z.looseObject({ kind: z.literal("askAgain"), call: name, gate: name, restored: at.exactOptional() }),
  z.looseObject({ kind: z.literal("warn"), expiresAt: at.nullable() }),
  z.looseObject({ kind: z.literal("intrinsicChanged"), changed: changedIntrinsic }),
  z.looseObject({ kind: z.literal("toolBack"), call: name }),
  z.looseObject({ kind: z.literal("tell"), call: name }),
  z.looseObject({ kind: z.literal("cancel") }),
  z.looseObject({ kind: z.literal("takeover"), from: name, takeovers: count }),
]);

export const failedFrom: z.ZodType<FailedFrom> = z.looseObject({
  phase,
  started: z.array(name),
});

export const window: z.ZodType<EventOf<"Compacted">["window"]> = z.looseObject({ from: count, lead: z.array(name) });

export const answer: z.ZodType<Answer> = z.looseObject({
  as: z.enum(["succeeded", "failed", "retry", "compensate"]),
  value: value.nullable(),
  by: z.string(),
  note: z.string().nullable(),
  files,
});

export const decision: z.ZodType<HumanDecision> = z.looseObject({
  as: z.enum(["approve", "deny", "edit"]),
  more: grant.exactOptional(),
  args: value.nullable(),
  by: z.string(),
  note: z.string().nullable(),
});

export const ignored = {
  at,
  gate: name,
  as: z.enum(["approve", "deny", "edit"]),
  by: z.string(),
  why: z.string(),
};

export const assigned = z.looseObject({ number: count, to: name, by: z.string() });

export const compensate = z.looseObject({ next: z.enum(["cancel", "restart"]), by: z.string() });

export const messageBody: z.ZodType<MessageBody> = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("decision"), gate: name, decision }),
  childReport,
  answerGiven,
  eventSignalled,
  z.looseObject({ kind: z.literal("reconcile"), call: name, question: count, answer }),
  z.looseObject({ kind: z.literal("upgrade"), question: count, to: name, by: z.string() }),
  assigned.extend({ kind: z.literal("assign") }),
  compensate.extend({ kind: z.literal("compensate") }),
  z.looseObject({ kind: z.literal("user"), text: z.string(), by: name }),
  z.looseObject({ kind: z.literal("userFiles"), text: z.string(), by: name, files: z.array(fileRef) }),
]);

export const intentShape = {
  effect,
  key: name,
  argsDigest: sha,
  parsed: parsedArgs,
  business: z.literal(true).exactOptional(),
  undo: z.literal(true).exactOptional(),
  alone: z.literal(true).exactOptional(),
};

const ended = { kind: z.literal("RunEnded"), at };

const kinds: { readonly [K in EventKind]: z.ZodType<EventOf<K>> } = {
  RunStarted: runStarted,
  AgentChanged: z.looseObject({
    kind: z.literal("AgentChanged"),
    at,
    from: z.string(),
    to: z.string(),
    by: z.string().exactOptional(),
    price: price.exactOptional(),
  }),
  ModelCallCompleted: z.looseObject({
    kind: z.literal("ModelCallCompleted"),
    at,
    model: name,
    parts: z.array(replyPart),
    finish: z.string(),
    cut: z.looseObject({ limit: z.string(), calls: count }).exactOptional(),
    tokensIn: count,
    tokensOut: count,
    tookMs: count,
    routed: routed.exactOptional(),
    nearLimit,
    request: request.exactOptional(),
  }),
  ModelCallLost: z.looseObject({
    kind: z.literal("ModelCallLost"),
    at,
    calls: count,
    why: z.string(),
    closing: z.literal(true).exactOptional(),
  }),
  BudgetDebited: z.looseObject({
    kind: z.literal("BudgetDebited"),
    at,
    debit,
    for: z.string(),
    child: name.exactOptional(),
  }),
  Compacted: z.looseObject({
    kind: z.literal("Compacted"),
    at,
    model: name.exactOptional(),
    routed: routed.exactOptional(),
    summary: name,
    tokens: count,
    window,
    replaced: z.looseObject({ from: name, to: name, messages: count, digest: sha }),
    why: z.string(),
  }),
  ToolIntended: z.looseObject({ kind: z.literal("ToolIntended"), at, call: name, ...intentShape }),
  ApprovalRequested: z.looseObject({
    kind: z.literal("ApprovalRequested"),
    at,
    gate: name,
    call: name,
    planHash: sha,
    argsHash: sha,
    reason: z.string(),
    expiresAt: at,
    asksAgainMs: z.int().positive().exactOptional(),
    timesReopened: count.exactOptional(),
    restored: at.exactOptional(),
    budget: z.looseObject(asksFor).exactOptional(),
  }),
  HumanApprovalReceived: z.looseObject({
    kind: z.literal("HumanApprovalReceived"),
    at,
    gate: name,
    call: name,
    decision,
  }),
  DecisionIgnored: z.looseObject({ kind: z.literal("DecisionIgnored"), ...ignored }),
  ToolInvoked: z.looseObject({
    kind: z.literal("ToolInvoked"),
    at,
    call: name,
    epoch: count,
    before: json.exactOptional(),
    restored: at.exactOptional(),
  }),
  ToolResultRecorded: z.looseObject({
    kind: z.literal("ToolResultRecorded"),
    at,
    call: name,
    outcome: z.enum(["succeeded", "failed"]),
    value,
    externalId: z.string().nullable(),
    evidence: z.string(),
    files,
  }),
  ToolCompensated: z.looseObject({ kind: z.literal("ToolCompensated"), at, call: name, value, evidence: z.string() }),
  ToolOutcomeUnknown: z.looseObject({
    kind: z.literal("ToolOutcomeUnknown"),
    at,
    call: name,
    why: z.string(),
    reconcilableFrom: at.nullable(),
    toolGone: z.boolean().exactOptional(),
    onUnknown: onUnknown.exactOptional(),
    unbegun: z.literal(true).exactOptional(),
    restored: at.exactOptional(),
    approval: z.string().exactOptional(),
  }),
  ToolResultReconciled: z.looseObject({
    kind: z.literal("ToolResultReconciled"),
    at,
    call: name,
    answer,
    evidence: z.string().exactOptional(),
    externalId: z.string().exactOptional(),
  }),
  MessageAbsorbed: z.discriminatedUnion("stage", [
    z.looseObject({
      kind: z.literal("MessageAbsorbed"),
      at,
      stage: z.literal("taken"),
      message: name,
      body: messageBody,
    }),
    z.looseObject({ kind: z.literal("MessageAbsorbed"), at, stage: z.literal("cleared"), message: name }),
  ]),
  ...childEvents,
  ...detachedCallEvents,
  ...waitEvents,
  ...choiceEvents,
  ...leftOutEvents,
  ...memoryEvents,
  ResultSummarised: resultSummarised,
  RunPaused: z.looseObject({ kind: z.literal("RunPaused"), at }),
  RunResumed: z.looseObject({ kind: z.literal("RunResumed"), at }),
  CheckFailed: z.looseObject({
    kind: z.literal("CheckFailed"),
    at,
    check: z.string(),
    why: z.string(),
    isAnswer: z.literal(true).exactOptional(),
  }),
  CrackSignalled: z.looseObject({
    kind: z.literal("CrackSignalled"),
    at,
    crack: z.enum(CRACK_NAMES),
    why: z.string(),
    times: count,
    section: count,
  }),
  TopologyMoved: z.looseObject({
    kind: z.literal("TopologyMoved"),
    at,
    topology: name,
    progress: json,
    role: name,
    where: z.string(),
    note: z.string(),
    text: z.string().exactOptional(),
    section: z.literal(true).exactOptional(),
    repeats: z
      .looseObject({ undo: z.array(name).exactOptional(), standing: z.array(name).exactOptional() })
      .exactOptional(),
    final: name.exactOptional(),
  }),
  RecoveryDecided: z.looseObject({ kind: z.literal("RecoveryDecided"), at, rule: name, why: z.string(), action }),
  RunEnded: z.discriminatedUnion("status", [
    z.looseObject({ ...ended, status: z.literal("completed"), result: value, files }),
    z.looseObject({ ...ended, status: z.literal("failed"), failure, from: failedFrom.exactOptional() }),
    z.looseObject({ ...ended, status: z.literal("cancelled") }),
  ]),
  RunRedriven: z.looseObject({
    kind: z.literal("RunRedriven"),
    at,
    id: name,
    by: name,
    why: z.string(),
    failure,
  }),
};

const event = z.discriminatedUnion("kind", Object.values(kinds) as never) as z.ZodType<Event>;

export const commitRecord: z.ZodType<CommitRecord> = z.looseObject({
  version: count,
  epoch: count,
  events: z.array(event),
});
export const commitRecords: z.ZodType<readonly CommitRecord[]> = z.array(commitRecord);
