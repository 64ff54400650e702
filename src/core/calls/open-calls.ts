/**
 * Open calls, from proposed to settled, as changes of the state, and the transcript that receives their results.
 */
import type { EventOf, ReplyPart } from "../event.ts";
import { ensure } from "../ensure.ts";
import { type FileRef, type WithFiles, withFiles } from "../file.ts";
import { type CallOutcome, type Message, type Part, type Value, text } from "../message.ts";
import { PHASES, type Phase, type Status } from "../phases.ts";
import type { OpenCall, State } from "../state.ts";
import { isHeld, phaseOfHeld } from "./held-calls.ts";
import { settleRepeat, undoneNext } from "./repeats.ts";
import { addSettled, markUndone, workOfResult, workStands } from "./outside.ts";
import { callIdAfter } from "./proposed-calls.ts";

/** The calls that a reply proposes. Their IDs continue the count of the run. */
export function openCalls(state: State, parts: readonly ReplyPart[]): OpenCall[] {
  const proposed = parts.filter((part) => part.kind === "call");
  return proposed.map(({ tool }, index) => newCall(callId(state, index), tool));
}

export const newCall = (call: string, tool: string): OpenCall => ({
  call,
  tool,
  status: "proposed",
  intent: null,
  edited: null,
  releasedBy: null,
  attempts: 0,
  timesUnknown: 0,
  reconcilableFrom: null,
  probeAt: null,
  answer: null,
});

const callId = (state: State, index: number): string => callIdAfter(state.calls + index);

/** The next message of the transcript. `at`: epoch milliseconds. */
export function message(
  state: State,
  at: number,
  source: string,
  role: Message["role"],
  parts: readonly Part[],
  tokens = 0,
): Message {
  return { id: `m${state.messages.length + 1}`, at, source, role, parts, tokens };
}

/** The reply as a message. Its calls get the IDs that `openCalls` gives them. */
export function replyMessage(state: State, event: EventOf<"ModelCallCompleted">): Message {
  let index = 0;
  const parts = event.parts.map((part): Part => {
    if (part.kind !== "call") return part;
    index += 1;
    return { ...part, call: callId(state, index - 1) };
  });
  const said = message(state, event.at, `model:${event.model}`, "assistant", parts, event.tokensOut);
  return {
    ...said,
    ...(event.nearLimit === true ? { nearLimit: true } : {}),
    ...(event.cut === undefined ? {} : { cut: true }),
  };
}

/** Replaces one open call. Throws `InvariantViolated` if it is not open. */
export function updateCall(state: State, call: string, change: (open: OpenCall) => OpenCall): State {
  ensure(
    state.open.some((each) => each.call === call),
    `call ${call} is not open`,
  );
  return withOpen(state, (each) => each.call === call, change);
}

/** A user's text follows what is committed. A run that was about to complete goes on with the text. */
export function appendUserMessage(
  state: State,
  words: { text: string; by: string; at: number; source?: string } & WithFiles,
): State {
  const { files = [], source = `user:${words.by}` } = words;
  const said = message(state, words.at, source, "user", [text(words.text), ...files]);
  // This also holds for a paused run: it takes in the text before it resumes.
  const notDone = (phase: Phase): Phase => (phase === "Reflecting" ? "AwaitingLLM" : phase);
  const pausedFrom = state.pausedFrom === null ? null : notDone(state.pausedFrom);
  return { ...state, phase: notDone(state.phase), pausedFrom, messages: [...state.messages, said] };
}

/** Changes the open calls for which `is` holds. */
export function withOpen(state: State, is: (open: OpenCall) => boolean, change: (open: OpenCall) => OpenCall): State {
  return { ...state, open: state.open.map((each) => (is(each) ? change(each) : each)) };
}

/** Closes a call: its result joins the transcript with its own time and source. */
export function settleCall(
  state: State,
  call: string,
  as: { outcome: CallOutcome; value: Value; at: number; files?: readonly FileRef[] | undefined },
): State {
  const open = state.open.find((each) => each.call === call);
  ensure(open !== undefined, `call ${call} is not open`);
  const { tool, edited, intent, releasedBy, timesUnknown, undoes } = open;
  if (undoes !== undefined) return undone(state, { ...open, undoes }, as);
  const isOwn = intent?.business === true && (releasedBy !== null || timesUnknown > 0);
  const under = isOwn ? { under: { key: intent.key, argsDigest: intent.argsDigest } } : {};
  const part: Part = {
    kind: "result",
    call,
    tool,
    outcome: as.outcome,
    value: as.value,
    edited,
    ...under,
    ...withFiles(as.files),
    ...workOfResult(open, as.outcome),
  };
  return afterCalls({
    ...state,
    open: state.open.filter((each) => each !== open),
    ...registered(state, open, as.outcome),
    ...addSettled(state, open, as.outcome),
    messages: [...state.messages, message(state, as.at, `tool:${open.tool}`, "tool", [part])],
  });
}

/** The result of a run that completes, with the files that it carries. */
export const resultIn = ({
  result,
  files,
}: { readonly result: Value } & WithFiles): Pick<State, "result" | "resultFiles"> => ({
  result,
  ...(files && { resultFiles: files }),
});

/** An undo, or a released call that can be undone. An undo of a call that did not happen does nothing. */
export const mayHaveHappened = ({ undoes, intent, releasedBy, timesUnknown }: OpenCall): boolean =>
  undoes !== undefined || (intent?.undo === true && (releasedBy !== null || timesUnknown > 0));

/** Remembers a call that can be undone, if it succeeded or may have succeeded. So may a hand-off that failed. */
function registered(state: State, call: OpenCall, outcome: CallOutcome): Pick<State, "undo"> {
  if ((outcome === "failed" && !workStands(call.outside)) || !mayHaveHappened(call)) return {};
  const { intent, reconcilableFrom, agentChanged } = call;
  const from = outcome === "unknown" ? reconcilableFrom : null;
  const parsed = intent?.parsed === undefined ? {} : { parsed: intent.parsed };
  const changed = agentChanged === undefined ? {} : { agentChanged };
  return { undo: [...(state.undo ?? []), { call: call.call, key: intent?.key ?? "", from, ...parsed, ...changed }] };
}

/** Closes an undo. If it did not succeed, a human decided to leave the effect in place. */
function undone(
  state: State,
  { call, undoes, tool }: OpenCall & { readonly undoes: string },
  { outcome, at }: { readonly outcome: CallOutcome; readonly at: number },
): State {
  const isUndone = outcome === "succeeded";
  const said = text(`${tool} (${undoes}) ${isUndone ? "was undone" : "was not undone: somebody said to leave it"}.`);
  const { saga } = state;
  return afterCalls({
    ...settleRepeat(state, undoes, isUndone),
    open: state.open.filter((each) => each.call !== call),
    ...(isUndone ? markUndone(state, undoes) : {}),
    undo: (state.undo ?? []).filter((each) => each.call !== undoes),
    ...(saga && { saga: { ...saga, leftInPlace: [...saga.leftInPlace, ...(isUndone ? [] : [undoes])] } }),
    messages: [...state.messages, message(state, at, "cairn", "user", [said])],
  });
}

/** Derives the phase from the open calls: the last result closes the batch. A paused or waiting run keeps its phase. */
export function afterCalls(state: State): State {
  if (state.pausedFrom !== null) return state;
  const blocked = state.open.some(({ status }) => status === "unknown");
  if (state.saga !== undefined || undoneNext(state) !== null)
    return { ...state, phase: blocked ? "AwaitingReconcile" : "ExecutingTools" };
  const asksForMore = (state.extension?.gate ?? null) !== null;
  if (state.open.length === 0) return { ...state, phase: asksForMore ? "AwaitingApproval" : "AwaitingLLM" };
  // Calls that are not yet released wait for the budget as well.
  const waits = state.open.every(
    (call) =>
      call.status === "unknown" ||
      isHeld(call) ||
      waitsForEarlierCall(state.open, call) ||
      (asksForMore && call.status !== "started"),
  );
  if (!waits) return { ...state, phase: "ExecutingTools" };
  if (blocked) return { ...state, phase: "AwaitingReconcile" };
  return { ...state, phase: asksForMore ? "AwaitingApproval" : phaseOfHeld(state.open) };
}

/** The status of the run. The phase decides it, except that a run whose calls are all held is not running. */
export function statusOf({ phase, open }: Pick<State, "phase" | "open">): Status {
  const isWaiting =
    phase === "ExecutingTools" &&
    open.some(isHeld) &&
    open.every((call) => isHeld(call) || waitsForEarlierCall(open, call));
  return isWaiting ? "waiting" : PHASES[phase].status;
}

/** The call is next to get its intent and its release. */
export const isNext = ({ status }: OpenCall): boolean => status === "proposed" || status === "permitted";

/**
 * Schedule 61: a call that runs alone is released after all calls before it in its reply are settled, even if a human
 * has to reconcile them. The calls after it are released after it is settled. A call without an intent waits for
 * nothing.
 */
export function waitsForEarlierCall(open: readonly OpenCall[], call: OpenCall): boolean {
  if (!isNext(call) || call.intent === null) return false;
  const before = open.slice(0, open.indexOf(call));
  if (before.some(({ intent }) => intent?.alone === true)) return true;
  return call.intent.alone === true && open.some((each) => each !== call && (!isNext(each) || before.includes(each)));
}
