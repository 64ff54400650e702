/**
 * The events of a run as the AI SDK's UI message stream, so that `useChat` shows a run (ADR 0094). A pure fold of the
 * log: the same events give the same chunks at the same indices, for each reader and each reconnect.
 *
 * A *segment* is what one request of the page streams: from a message, a start or a decision to the point where the run
 * waits for a human or has ended. The segments of one answer form a *turn*, one message of the assistant.
 *
 * A user may go on while a call waits for a human. What settles the call then belongs to the message that shows it, and
 * not to the newest one: a segment keeps it apart, as what it *updates*.
 */
import { NEXT_MESSAGE } from "../../core/calls/next-message.ts";
import {
  type FollowedCalls,
  type FollowedSettlement,
  asksHuman,
  followCalls,
  followedCalls,
  waitsForHuman,
} from "../../core/calls/followed-calls.ts";
import { proposedBy } from "../../core/calls/proposed-calls.ts";
import type { Event, Failure } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import type { TimelineEntry } from "../../operations/views.ts";
import { type UiChunk, replyChunks, shownJson, shownText } from "./ui-chunks.ts";

export interface UiSegment {
  /** From 1. The segments of one turn continue one message. */
  readonly turn: number;
  /** What began it: `task`, the ID of a message, a gate, or an answer. More of them may come while it is open. */
  readonly entries: string[];
  readonly chunks: UiChunk[];
  /** Its last chunk is `finish`. */
  isDone: boolean;
  /** What it adds to the message of an earlier turn, which holds the calls that are open. */
  update?: UiSegment;
}

/** What is known of a run after some of its events. */
export interface UiFold {
  readonly run: string;
  readonly segments: UiSegment[];
  readonly calls: FollowedCalls;
  /** How each open question was shown, by its call. */
  readonly questions: Map<Json | undefined, UiChunk>;
  /** The turn whose message shows the calls that are open. */
  callsTurn: number;
  /** The newest gate of each call. */
  readonly gates: Map<string, string>;
  /** The version of the newest commit. */
  version: number;
  /** The provider of its model refuses what it asks, and it waits for an operator. */
  refusal: Failure | null;
  hasStep: boolean;
  ended: Extract<Event, { kind: "RunEnded" }> | null;
}

/** The fold of a run without events. */
export const uiFold = (run: string): UiFold => ({
  run,
  segments: [],
  calls: followedCalls(),
  questions: new Map(),
  callsTurn: 0,
  gates: new Map(),
  version: 0,
  refusal: null,
  hasStep: false,
  ended: null,
});

/** Adds the next events. They have to be whole commits. */
export function addEntries(fold: UiFold, entries: readonly TimelineEntry[]): void {
  for (const [index, entry] of entries.entries()) {
    fold.version = entry.version;
    apply(fold, entry);
    // Decisions of one commit belong together, so a segment ends with a commit.
    if (entries[index + 1]?.version !== entry.version) finishIfIdle(fold);
  }
}

function apply(fold: UiFold, entry: TimelineEntry): void {
  if (entry.kind === "RunStarted") begin(fold, { entry: "task", isTurn: true });
  const before = fold.calls.count;
  // A decision and an answer begin a segment, which the result of their call belongs to.
  if (entry.kind === "HumanApprovalReceived") {
    if (fold.calls.open.has(entry.call)) beginOfCall(fold, entry.gate);
    else begin(fold, { entry: entry.gate, isTurn: false });
  }
  const settled = followCalls(fold.calls, entry);
  reply(fold, entry, before);
  if (entry.kind === "HumanApprovalReceived") tookDecision(fold, entry, settled);
  else for (const each of settled) settle(fold, each);
  switch (entry.kind) {
    case "MessageAbsorbed":
      if (entry.stage === "taken" && entry.message.startsWith(USER_ID)) tookMessage(fold, entry.message);
      return;
    case "ApprovalRequested":
      return askApproval(fold, entry);
    case "InputRefused":
      return askAgain(fold, entry.call);
    case "RecoveryDecided":
      if (entry.action.kind === "hold") fold.refusal = null;
      if (entry.action.kind === "block") fold.refusal = entry.action.failure;
      return;
    case "RunResumed":
    case "AgentChanged":
      fold.refusal = null;
      return;
    case "RunRedriven":
      fold.ended = null;
      begin(fold, { entry: "redrive", isTurn: false });
      return;
    case "RunEnded":
      fold.ended = entry;
      begin(fold, { entry: "end", isTurn: false });
      return;
    default:
      return;
  }
}

/** Begins a segment, unless one is open: that one goes on. */
function begin(
  { segments }: UiFold,
  { entry, isTurn }: { readonly entry: string; readonly isTurn: boolean },
): UiSegment {
  const last = segments.at(-1);
  if (last?.isDone === false) {
    last.entries.push(entry);
    return last;
  }
  const turn = (last?.turn ?? 0) + (isTurn || last === undefined ? 1 : 0);
  const begun = begunOf(turn);
  begun.entries.push(entry);
  segments.push(begun);
  return begun;
}

const begunOf = (turn: number): UiSegment => ({
  turn,
  entries: [],
  chunks: [{ type: "start", messageId: `turn-${turn}` }],
  isDone: false,
});

/** Adds chunks. What happens after a segment has ended (a human answered elsewhere) begins the next one of its turn. */
const add = (fold: UiFold, ...chunks: readonly UiChunk[]): void =>
  void begin(fold, { entry: "", isTurn: false }).chunks.push(...chunks);

/** Begins a segment with what a human decided or answered about an open call. Returns the part for the message that shows the call. */
function beginOfCall(fold: UiFold, entry: string): UiSegment {
  const segment = begin(fold, { entry, isTurn: false });
  if (fold.callsTurn === segment.turn) return segment;
  segment.update ??= begunOf(fold.callsTurn);
  segment.update.entries.push(entry);
  return segment.update;
}

/** Adds chunks about an open call. */
const addOfCall = (fold: UiFold, ...chunks: readonly UiChunk[]): void =>
  void beginOfCall(fold, "").chunks.push(...chunks);

function tookMessage(fold: UiFold, id: string): void {
  begin(fold, { entry: id.slice(USER_ID.length), isTurn: true });
}

/** How the ID of a text of the user begins; of one that stops an answer, another way. */
export const USER_ID = "user#";

function reply(fold: UiFold, entry: TimelineEntry, before: number): void {
  if (entry.kind !== "ModelCallCompleted" || entry.finish === "idle") return;
  if (fold.hasStep) add(fold, { type: "finish-step" });
  fold.hasStep = true;
  const chunks = replyChunks(entry, { run: fold.run, version: entry.version, calls: proposedBy(entry, before) });
  add(fold, ...chunks);
  // A reply comes when no call is open.
  fold.questions.clear();
  fold.gates.clear();
  fold.callsTurn = fold.segments.at(-1)?.turn ?? 0;
  for (const chunk of chunks) {
    if (chunk.type === "tool-input-available") fold.questions.set(chunk["toolCallId"], chunk);
  }
}

function askApproval(fold: UiFold, { gate, call, reason }: Extract<Event, { kind: "ApprovalRequested" }>): void {
  if (!fold.calls.open.has(call)) return;
  fold.gates.set(call, gate);
  addOfCall(fold, { type: "tool-approval-request", approvalId: gate, toolCallId: call, reason });
}

function tookDecision(
  fold: UiFold,
  { gate, call, decision }: Extract<Event, { kind: "HumanApprovalReceived" }>,
  [denied]: readonly FollowedSettlement[],
): void {
  if (denied === undefined && !fold.calls.open.has(call)) return;
  const reason = decision.note === null ? {} : { reason: decision.note };
  addOfCall(fold, { type: "tool-approval-response", approvalId: gate, approved: denied === undefined, ...reason });
  if (denied !== undefined) addOfCall(fold, { type: "tool-output-denied", toolCallId: call });
}

/** What a human answered does not fit: the page shows the call as open again. */
function askAgain(fold: UiFold, call: string): void {
  const asked = fold.questions.get(call);
  if (asked === undefined) return;
  beginOfCall(fold, answerEntry(call)).chunks.push(asked);
}

/** The entry that a human's answer to this call makes. No message has an ID like it. */
export const answerEntry = (call: string): string => `answer:${call}`;

/** Shows how a call was settled. A call that undoes another one is none of the model's. */
function settle(fold: UiFold, settled: FollowedSettlement): void {
  const { call, tool, undoes, outcome, value } = settled;
  if (tool === NEXT_MESSAGE) return;
  if (asksHuman(settled)) beginOfCall(fold, answerEntry(call));
  if (undoes !== undefined) return;
  const shown: UiChunk =
    outcome === "succeeded"
      ? { type: "tool-output-available", toolCallId: call, output: shownJson(value) }
      : { type: "tool-output-error", toolCallId: call, errorText: `${PREFIX[outcome]}${shownText(value)}` };
  addOfCall(fold, shown);
}

const PREFIX = { failed: "", unknown: "its outcome is unknown: " } as const;

/** Ends the segment if nothing goes on without a human. */
function finishIfIdle(fold: UiFold): void {
  const { segments, calls, ended, refusal } = fold;
  const segment = segments.at(-1);
  if (segment === undefined || segment.isDone) return;
  const isWaiting = refusal !== null || waitsForHuman(calls);
  const isIdle = ended !== null || isWaiting;
  const { update } = segment;
  if (update?.isDone === false && (isIdle || calls.open.size === 0)) {
    update.chunks.push(finish(fold, update.turn));
    update.isDone = true;
  }
  if (!isIdle) return;
  const step: readonly UiChunk[] = fold.hasStep ? [{ type: "finish-step" }] : [];
  fold.hasStep = false;
  segment.chunks.push(...step, ...endOf(fold), finish(fold, segment.turn));
  segment.isDone = true;
}

function endOf({ ended, refusal }: UiFold): readonly UiChunk[] {
  const failure = ended?.status === "failed" ? ended.failure : ended === null ? refusal : null;
  if (failure !== null) return [{ type: "error", errorText: `${failure.code}: ${failure.message}` }];
  return ended?.status === "cancelled" ? [{ type: "abort", reason: "the run was cancelled" }] : [];
}

function finish(fold: UiFold, turn: number): UiChunk {
  const { run, ended, calls, refusal, version } = fold;
  const { open, asksBudget } = calls;
  const isConversation = [...open.values()].some(({ tool }) => tool === NEXT_MESSAGE);
  const isRefused = ended === null && refusal !== null;
  const status = ended?.status ?? (isConversation ? "open" : asksBudget ? "budget" : "waiting");
  const finishReason =
    ended?.status === "failed" || isRefused ? "error" : ended === null && !isConversation ? "tool-calls" : "stop";
  const waits = ended === null && turn === fold.callsTurn ? askedOf(fold) : [];
  return { type: "finish", finishReason, messageMetadata: { run, status, version, waits } };
}

/** What open calls ask a human: their gates, and the calls that take an answer. */
const askedOf = ({ calls, gates }: UiFold): readonly string[] =>
  [...calls.open.values()].flatMap(({ call, status, waitsFor }) => {
    const gate = status === "gated" ? gates.get(call) : undefined;
    if (gate !== undefined) return [gate];
    return status === "started" && waitsFor === "answer" ? [call] : [];
  });

/** Names, for a page, the whole message that this entry belongs to, up to what the entry did. */
export const wholeOf = (entry: string): string => `${WHOLE}${entry}`;

/** No message, gate or call has an ID like it. */
const WHOLE = "whole:";

/**
 * What a request of a page follows: the last segment that this entry is in (an answer that did not fit is given again), or
 * what it updates; or the whole last turn. Null: it is not in the log yet.
 */
function streamOf(segments: readonly UiSegment[], entry: string | null): UiSegment | null {
  const last = segments.at(-1);
  if (last === undefined) return null;
  if (entry === null) return joined(segments.filter(({ turn }) => turn === last.turn));
  const isWhole = entry.startsWith(WHOLE);
  const name = isWhole ? entry.slice(WHOLE.length) : entry;
  const parts = segments.flatMap(withUpdate);
  // What it updates comes before the segment, which has the same entry.
  const index = parts.findLastIndex(
    ({ entries, update }) => entries.includes(name) && update?.entries.includes(name) !== true,
  );
  const found = parts[index];
  if (found === undefined) return null;
  return isWhole ? joined(parts.slice(0, index + 1).filter(({ turn }) => turn === found.turn)) : found;
}

/** The last segment with this entry, with what it updates: for a client whose calls belong to no message. */
export const segmentWith = (segments: readonly UiSegment[], entry: string | null): UiSegment | null =>
  segments.findLast(({ entries }) => entries.includes(entry ?? "")) ?? null;

/** Whole turns: all that makes the message of each, wherever it stands in the log. By their numbers. */
export const wholeTurns = (segments: readonly UiSegment[]): ReadonlyMap<number, UiSegment> =>
  new Map([...Map.groupBy(segments.flatMap(withUpdate), ({ turn }) => turn)].map(([turn, own]) => [turn, joined(own)]));

const withUpdate = (segment: UiSegment): readonly UiSegment[] =>
  segment.update === undefined ? [segment] : [segment.update, segment];

/** The segments of one turn as one. At least one. What one of them ended with stays known. */
function joined(own: readonly UiSegment[]): UiSegment {
  const last = own.at(-1) as UiSegment;
  const chunks = own.flatMap((segment, index) => {
    const some = index === 0 ? segment.chunks : segment.chunks.slice(1);
    return segment === last ? some : some.map(withoutEnd);
  });
  return { ...last, entries: own.flatMap(({ entries }) => entries), chunks };
}

/** The chunk as one that more chunks follow. */
export const withoutEnd = (chunk: UiChunk): UiChunk =>
  chunk.type === "finish" ? { type: "message-metadata", messageMetadata: chunk["messageMetadata"] ?? null } : chunk;

/**
 * The same for a reader who follows live. A run begins with its first commit, which has its first reply too, so what its
 * model says before belongs to the segment that this commit will begin.
 */
export function liveStreamOf(
  segments: readonly UiSegment[],
  entry: string | null,
  find: (segments: readonly UiSegment[], entry: string | null) => UiSegment | null = streamOf,
): UiSegment | null {
  if (segments.length > 0 || (entry !== null && entry !== "task")) return find(segments, entry);
  return { turn: 1, entries: ["task"], chunks: [{ type: "start", messageId: "turn-1" }], isDone: false };
}

/** Forgets the chunks that this reader never gets, so that a long conversation takes no memory. */
export function dropChunks({ segments, callsTurn }: UiFold, entry: string | null): void {
  const parts = segments.flatMap(withUpdate);
  const last = segments.at(-1)?.turn;
  const whole = entry?.startsWith(WHOLE) === true ? entry.slice(WHOLE.length) : null;
  // A decision that is not in the log yet is about the calls that are open.
  const from = whole === null ? null : (parts.find(({ entries }) => entries.includes(whole))?.turn ?? callsTurn);
  for (const { turn, entries, chunks, isDone } of parts) {
    const isWanted = entry === null ? turn === last : from === null ? entries.includes(entry) : turn >= from;
    if (isDone && !isWanted) chunks.length = 0;
  }
}
