/**
 * The schema of the state as it is stored, as `core/state.ts` has it. The schemas here are the trust boundary: whatever
 * comes out of a store is checked before the core sees it. Each schema is typed by the core's own type, so the two cannot
 * drift apart.
 */
import * as z from "zod";
import type { Message } from "../../core/message.ts";
import { ARCHIVE_TIERS, type RunRetention } from "../../core/policy/retention.ts";
import { CRACK_NAMES } from "../../core/crack.ts";
import type {
  ActiveFallback,
  Extension,
  OpenCall,
  Redriven,
  State,
  TopologyState,
  Undoable,
  Upgrades,
} from "../../core/state.ts";
import { asksFor, grant, price, spent } from "./budget.ts";
import {
  changedIntrinsic,
  answer,
  assigned,
  compensate,
  failedFrom,
  failure,
  toMend,
  ignored,
  intentShape,
  onUnknown,
  failedSummaries,
  outage,
  phase,
  window,
} from "./event.ts";
import { child, expectedAnswer } from "./child.ts";
import { gate, heldBy } from "./held-by.ts";
import { chosen } from "./choice.ts";
import { memory } from "./memory.ts";
import { files, json, message, parsedArgs, sha, value } from "./message.ts";
import { modelOut } from "./model-out.ts";
import { outsideWork } from "./outside.ts";
import { deadline, firing, forked } from "./run-started.ts";
import { signal } from "./wait.ts";

const at = z.int().nonnegative();
const count = z.int().nonnegative();
const name = z.string().min(1);
const agentChanged = z.literal(true).exactOptional();

const openCall: z.ZodType<OpenCall> = z.looseObject({
  call: name,
  tool: z.string(),
  status: z.enum(["proposed", "gated", "permitted", "started", "unknown"]),
  intent: z.looseObject(intentShape).nullable(),
  edited: value.nullable(),
  releasedBy: count.nullable(),
  attempts: count,
  timesUnknown: count,
  reconcilableFrom: at.nullable(),
  probeAt: at.nullable(),
  answer: answer.nullable(),
  toolGone: z.boolean().exactOptional(),
  unbegun: z.string().exactOptional(),
  postponed: z
    .looseObject({
      missed: count,
      released: z.literal(true).exactOptional(),
      begunBefore: z.literal(true).exactOptional(),
    })
    .exactOptional(),
  timesReopened: count.exactOptional(),
  undoes: name.exactOptional(),
  onUnknown: onUnknown.exactOptional(),
  before: json.exactOptional(),
  agentChanged,
  restored: at.exactOptional(),
  approval: z.string().exactOptional(),
  heldBy: heldBy.exactOptional(),
  outside: outsideWork.exactOptional(),
});

const extension: z.ZodType<Extension> = z.looseObject({
  questions: count,
  granted: grant,
  gate: z.looseObject({ ...gate, ...asksFor }).nullable(),
});

const upgrades: z.ZodType<Upgrades> = z.looseObject({
  policy: z.enum(["follow", "pin"]),
  questions: count,
  lack: z
    .discriminatedUnion("kind", [
      z.looseObject({ kind: z.literal("agent"), why: z.string() }),
      z.looseObject({ kind: z.literal("upgrade"), to: name }),
      z.looseObject({ kind: z.literal("operator"), ...toMend }),
    ])
    .nullable(),
  accepted: z.looseObject({ to: name, by: z.string() }).nullable(),
});

const fallback: z.ZodType<ActiveFallback> = z.looseObject({ model: count, until: at });

const redriven: z.ZodType<Redriven> = z.looseObject({ times: z.int().positive(), id: name });

const restarts = z.literal(true).exactOptional();
const forced = z.literal(true).exactOptional();

const ending: z.ZodType<State["ending"]> = z
  .discriminatedUnion("kind", [
    z.looseObject({
      kind: z.literal("failed"),
      failure,
      next: z.enum(["end", "leave"]).exactOptional(),
      restarts,
      forced,
    }),
    z.looseObject({ kind: z.literal("cancelled"), forced }),
  ])
  .nullable();

const topology: z.ZodType<TopologyState> = z.looseObject({
  kind: name,
  progress: json,
  role: name,
  where: z.string(),
  from: count,
  final: name.exactOptional(),
});

const undo: z.ZodType<readonly Undoable[]> = z.array(
  z.looseObject({ call: name, key: name, from: at.nullable(), parsed: parsedArgs, agentChanged }),
);

export const retention: z.ZodType<RunRetention> = z.looseObject({
  hotMs: z.int().positive().nullable(),
  archive: z.enum(ARCHIVE_TIERS).nullable(),
});

/** A sealed stretch of the transcript: `count` messages, `bytes` of canonical JSON. */
export interface SegmentRef {
  readonly sha256: string;
  readonly count: number;
  readonly bytes: number;
}

/** The state as it is stored: the transcript as manifest and unsealed tail. */
export type StoredState = Omit<State, "messages"> & {
  readonly manifest: readonly SegmentRef[];
  readonly tail: readonly Message[];
};

export const messages: z.ZodType<readonly Message[]> = z.array(message);

const crack = z.looseObject({ times: count, at, why: z.string(), section: count });

export const storedState: z.ZodType<StoredState> = z.looseObject({
  run: name,
  born: name,
  agent: name,
  agentVersion: z.string(),
  task: value,
  phase,
  takeoversMax: count,
  price: price.exactOptional(),
  retention: retention.exactOptional(),
  restart: count,
  calls: count,
  open: z.array(openCall),
  children: z.array(child),
  grant: grant.exactOptional(),
  depth: z.int().positive().exactOptional(),
  expected: expectedAnswer.exactOptional(),
  spent,
  modelRetries: count,
  nudges: count,
  cutReplies: z.int().positive().exactOptional(),
  leavesOut: z.literal(true).exactOptional(),
  replyTokensMax: z.int().positive().exactOptional(),
  onIdle: z.literal("wait").exactOptional(),
  warnedOf: at.exactOptional(),
  retryAt: at.nullable(),
  outage: outage.exactOptional(),
  failedSummaries: failedSummaries.exactOptional(),
  fallback: fallback.exactOptional(),
  modelOut: modelOut.exactOptional(),
  stopsFor: failure.exactOptional(),
  closingCallLost: z.literal(true).exactOptional(),
  ending,
  pausedFrom: phase.nullable(),
  result: value.nullable(),
  resultFiles: files,
  failure: failure.nullable(),
  failedFrom: failedFrom.exactOptional(),
  redriven: redriven.exactOptional(),
  absorbed: z.array(name),
  startedAt: at.nullable(),
  startedBy: name.exactOptional(),
  firing: firing.exactOptional(),
  forked: forked.exactOptional(),
  deadline: deadline.exactOptional(),
  changedIntrinsics: z.array(changedIntrinsic).exactOptional(),
  upgrades: upgrades.exactOptional(),
  extension: extension.exactOptional(),
  signals: z.array(signal).exactOptional(),
  outside: outsideWork.exactOptional(),
  undo: undo.exactOptional(),
  repeats: z.looseObject({ due: z.array(name), undone: z.array(name), standing: z.array(name) }).exactOptional(),
  saga: z.looseObject({ leftInPlace: z.array(name) }).exactOptional(),
  compensate: compensate.exactOptional(),
  restartedFrom: count.exactOptional(),
  assigned: assigned.exactOptional(),
  ignoredDecision: z.looseObject(ignored).exactOptional(),
  window: window.exactOptional(),
  topology: topology.exactOptional(),
  cracks: z.partialRecord(z.enum(CRACK_NAMES), crack).exactOptional(),
  memory: memory.exactOptional(),
  chosen: chosen.exactOptional(),
  leftOutTools: name.exactOptional(),
  manifest: z.array(z.looseObject({ sha256: sha, count, bytes: count })),
  tail: messages,
});
