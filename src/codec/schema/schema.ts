/**
 * The schemas at the trust boundary: all data that comes out of a store is validated before the core sees it.
 * Each schema is typed by the core's own type, so the two cannot drift apart.
 */
import * as z from "zod";
import type { Answer, CommitRecord, Decision, Event, EventKind, EventOf, MessageBody } from "../../core/event.ts";
import type { Message } from "../../core/message.ts";
import { PHASE_NAMES, type Phase } from "../../core/phases.ts";
import { ARCHIVE_TIERS, type Retention } from "../../core/policy/retention.ts";
import type { SnapshotPointer } from "../../protocol/row.ts";
import type { OpenCall, State } from "../../core/state.ts";
import { asksFor, assigned, debit, extensionWith, grant, price, spent } from "./budget.ts";
import { decisionIgnored, ignoredDecision } from "./decisions.ts";
import { action, crackSignalled, failure, fallback, outage } from "./recovery.ts";
import { failedFrom, redriven, runRedriven } from "./redrive.ts";
import { compensate, ending, saga, undo } from "./saga.ts";
import { upgrades } from "./upgrades.ts";
import { message, replyPart, sha, value } from "./message.ts";
import { compacted, crowded, window } from "./window.ts";

const at = z.int().nonnegative();
const count = z.int().nonnegative();
const name = z.string().min(1);
export const effect = z.enum(["none", "keyed", "probed", "unsafe"]);
const onUnknown = z.enum(["ask", "tell", "fail", "compensate"]);
export const phase = z.custom<Phase>((value) => PHASE_NAMES.includes(value as Phase));

const answer: z.ZodType<Answer> = z.looseObject({
  as: z.enum(["succeeded", "failed", "retry", "compensate"]),
  value: value.nullable(),
  by: z.string(),
  note: z.string().nullable(),
});

const decision: z.ZodType<Decision> = z.looseObject({
  as: z.enum(["approve", "deny", "edit"]),
  more: grant.exactOptional(),
  args: value.nullable(),
  by: z.string(),
  note: z.string().nullable(),
});

export const messageBody: z.ZodType<MessageBody> = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("decision"), gate: name, decision }),
  z.looseObject({ kind: z.literal("child"), child: name, status: z.enum(["completed", "failed", "cancelled"]), value }),
  z.looseObject({ kind: z.literal("reconcile"), call: name, asked: count, answer }),
  z.looseObject({ kind: z.literal("upgrade"), asked: count, to: name, by: z.string() }),
  assigned.extend({ kind: z.literal("assign") }),
  compensate.extend({ kind: z.literal("compensate") }),
  z.looseObject({ kind: z.literal("user"), text: z.string(), by: name }),
]);

const intentShape = {
  ...{ effect, key: name, argsDigest: sha },
  business: z.literal(true).exactOptional(),
  undo: z.literal(true).exactOptional(),
  alone: z.literal(true).exactOptional(),
};

const kinds: { readonly [K in EventKind]: z.ZodType<EventOf<K>> } = {
  RunStarted: z.looseObject({ kind: z.literal("RunStarted"), at, agentVersion: z.string() }),
  AgentChanged: z.looseObject({
    kind: z.literal("AgentChanged"),
    at,
    from: z.string(),
    to: z.string(),
    by: z.string().exactOptional(),
    price: price.exactOptional(),
  }),
  ModelCallCompleted: z.looseObject({
    ...{ kind: z.literal("ModelCallCompleted"), at, model: name, parts: z.array(replyPart), finish: z.string() },
    ...{ tokensIn: count, tokensOut: count, tookMs: count, crowded },
    request: z
      .looseObject({ instructions: z.string(), tools: z.array(z.string()), messages: z.string() })
      .exactOptional(),
  }),
  ModelCallLost: z.looseObject({
    ...{ kind: z.literal("ModelCallLost"), at, calls: count, why: z.string() },
    closing: z.literal(true).exactOptional(),
  }),
  BudgetDebited: z.looseObject({ kind: z.literal("BudgetDebited"), at, debit, for: z.string() }),
  Compacted: compacted,
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
    again: count.exactOptional(),
    budget: z.looseObject(asksFor).exactOptional(),
  }),
  HumanApprovalReceived: z.looseObject({
    kind: z.literal("HumanApprovalReceived"),
    at,
    gate: name,
    call: name,
    decision,
  }),
  DecisionIgnored: decisionIgnored,
  ToolInvoked: z.looseObject({ kind: z.literal("ToolInvoked"), at, call: name, epoch: count }),
  ToolResultRecorded: z.looseObject({
    kind: z.literal("ToolResultRecorded"),
    at,
    call: name,
    outcome: z.enum(["succeeded", "failed"]),
    value,
    externalId: z.string().nullable(),
    evidence: z.string(),
  }),
  ToolCompensated: z.looseObject({ kind: z.literal("ToolCompensated"), at, call: name, value, evidence: z.string() }),
  ToolOutcomeUnknown: z.looseObject({
    kind: z.literal("ToolOutcomeUnknown"),
    at,
    call: name,
    why: z.string(),
    askFrom: at.nullable(),
    toolGone: z.boolean().exactOptional(),
    otherwise: onUnknown.exactOptional(),
  }),
  ToolResultReconciled: z.looseObject({
    ...{ kind: z.literal("ToolResultReconciled"), at, call: name, answer },
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
  ChildStarted: z.looseObject({ kind: z.literal("ChildStarted"), at, child: name }),
  RunPaused: z.looseObject({ kind: z.literal("RunPaused"), at }),
  RunResumed: z.looseObject({ kind: z.literal("RunResumed"), at }),
  CheckFailed: z.looseObject({ kind: z.literal("CheckFailed"), at, check: z.string(), why: z.string() }),
  CrackSignalled: crackSignalled,
  RecoveryDecided: z.looseObject({ kind: z.literal("RecoveryDecided"), at, rule: name, why: z.string(), action }),
  RunEnded: z.discriminatedUnion("status", [
    z.looseObject({ kind: z.literal("RunEnded"), at, status: z.literal("completed"), result: value }),
    z.looseObject({
      ...{ kind: z.literal("RunEnded"), at, status: z.literal("failed"), failure },
      from: failedFrom.exactOptional(),
    }),
    z.looseObject({ kind: z.literal("RunEnded"), at, status: z.literal("cancelled") }),
  ]),
  RunRedriven: runRedriven,
};

const event = z.discriminatedUnion("kind", Object.values(kinds) as never) as z.ZodType<Event>;

export const commitRecord: z.ZodType<CommitRecord> = z.looseObject({
  version: count,
  epoch: count,
  events: z.array(event),
});
export const commitRecords: z.ZodType<readonly CommitRecord[]> = z.array(commitRecord);

const gate = {
  gate: name,
  planHash: sha,
  argsHash: sha,
  reason: z.string(),
  expiresAt: at,
  decision: decision.nullable(),
};

const openCall: z.ZodType<OpenCall> = z.looseObject({
  call: name,
  tool: z.string(),
  status: z.enum(["proposed", "gated", "permitted", "started", "unknown"]),
  intent: z.looseObject(intentShape).nullable(),
  gate: z.looseObject(gate).nullable(),
  edited: value.nullable(),
  releasedBy: count.nullable(),
  tries: count,
  asked: count,
  askFrom: at.nullable(),
  probeAt: at.nullable(),
  answer: answer.nullable(),
  toolGone: z.boolean().exactOptional(),
  askedAgain: count.exactOptional(),
  undoes: name.exactOptional(),
  otherwise: onUnknown.exactOptional(),
});

export const retention: z.ZodType<Retention> = z.looseObject({
  hotMs: z.int().positive().nullable(),
  archive: z.enum(ARCHIVE_TIERS).nullable(),
});

/** A manifest entry: a transcript segment of `count` messages in `bytes` of canonical JSON. */
export interface SegmentRef {
  readonly sha256: string;
  readonly count: number;
  readonly bytes: number;
}

/** The state as a snapshot stores it: the transcript is a manifest of segments and a tail of messages. */
export type StoredState = Omit<State, "messages"> & {
  readonly manifest: readonly SegmentRef[];
  readonly tail: readonly Message[];
};

export const messages: z.ZodType<readonly Message[]> = z.array(message);

export const storedState: z.ZodType<StoredState> = z.looseObject({
  ...{ run: name, born: name, agent: name, agentVersion: z.string() },
  task: value,
  phase,
  takeoversMax: count,
  price: price.exactOptional(),
  retention: retention.exactOptional(),
  attempt: count,
  calls: count,
  open: z.array(openCall),
  children: z.array(name),
  spent,
  ...{ modelRetries: count, nudges: count, retryAt: at.nullable() },
  outage: outage.exactOptional(),
  fallback: fallback.exactOptional(),
  stopsFor: failure.exactOptional(),
  closingCallLost: z.literal(true).exactOptional(),
  ending,
  pausedFrom: phase.nullable(),
  result: value.nullable(),
  failure: failure.nullable(),
  failedFrom: failedFrom.exactOptional(),
  redriven: redriven.exactOptional(),
  absorbed: z.array(name),
  startedAt: at.nullable(),
  startedBy: name.exactOptional(),
  upgrades: upgrades.exactOptional(),
  extension: extensionWith(gate).exactOptional(),
  undo: undo.exactOptional(),
  saga: saga.exactOptional(),
  compensate: compensate.exactOptional(),
  attemptFrom: count.exactOptional(),
  assigned: assigned.exactOptional(),
  ignoredDecision: ignoredDecision.exactOptional(),
  window: window.exactOptional(),
  manifest: z.array(z.looseObject({ sha256: sha, count, bytes: count })),
  tail: messages,
});

export const snapshotPointer: z.ZodType<SnapshotPointer> = z.looseObject({ version: count, key: name, digest: sha });
