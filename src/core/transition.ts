/**
 * `transition(state, event)`: the only way a state becomes another. Pure and total over its legal pairs; an event
 * that its phase does not accept is a mistake of ours and stops the run before anything is committed.
 */
import { type Spent, add } from "./budget.ts";
import type { Event, EventKind, EventOf, ReplyPart } from "./event.ts";
import { ensure } from "./invariant.ts";
import { type CallOutcome, type Message, type Part, type Value, inline, text } from "./message.ts";
import { type Command, type View, outstanding } from "./outstanding.ts";
import { type Phase, isTerminal, mayFollow } from "./phases.ts";
import type { OpenCall, State } from "./state.ts";

/** The phases in which each event may happen; `live` is every phase that is not terminal. */
export const ACCEPTS: { readonly [K in EventKind]: "live" | readonly Phase[] } = {
  RunStarted: ["Preparing"],
  AgentChanged: "live",
  ModelCallCompleted: ["AwaitingLLM", "RetryingLLM"],
  ModelCallLost: ["AwaitingLLM", "RetryingLLM"],
  BudgetDebited: "live",
  ToolIntended: ["ExecutingTools"],
  ToolInvoked: ["ExecutingTools"],
  ToolResultRecorded: ["ExecutingTools"],
  ToolOutcomeUnknown: ["ExecutingTools", "Paused"],
  ToolResultReconciled: ["ExecutingTools", "AwaitingReconcile"],
  MessageAbsorbed: "live",
  RunPaused: ["Preparing", "AwaitingLLM", "ExecutingTools", "RetryingLLM", "Reflecting", "AwaitingReconcile"],
  RunResumed: ["Paused"],
  CheckFailed: ["Reflecting"],
  RecoveryDecided: "live",
  RunEnded: "live",
};

export const accepts = (phase: Phase, kind: EventKind): boolean => {
  const phases = ACCEPTS[kind];
  return phases === "live" ? !isTerminal(phase) : phases.includes(phase);
};

export interface Step {
  readonly state: State;
  /** What is owed from here on, for the invocation of `view`. */
  readonly commands: readonly Command[];
}

export function transition(state: State, event: Event, view: View): Step {
  const next = fold(state, event);
  return { state: next, commands: outstanding(next, view) };
}

/** The state after the event. */
export function fold(state: State, event: Event): State {
  ensure(accepts(state.phase, event.kind), `${event.kind} does not happen in ${state.phase}`);
  const handler = handlers[event.kind] as (state: State, event: Event) => State;
  const next = handler(state, event);
  ensure(mayFollow(state.phase, next.phase), `${next.phase} does not follow ${state.phase}`);
  assertState(state, next);
  return next;
}

export const foldAll = (state: State, events: readonly Event[]): State => events.reduce(fold, state);

type Handlers = { readonly [K in EventKind]: (state: State, event: EventOf<K>) => State };

const handlers: Handlers = {
  RunStarted: (state, event) => ({
    ...state,
    phase: "AwaitingLLM",
    agentVersion: event.agentVersion,
    startedAt: event.at,
  }),

  AgentChanged: (state, event) => ({ ...state, agentVersion: event.to }),

  ModelCallCompleted: (state, event) => {
    const open = openCalls(state, event.parts);
    const spoken = wordy(event.parts);
    const replied = {
      ...state,
      calls: state.calls + open.length,
      open,
      modelRetries: 0,
      nudges: open.length > 0 ? 0 : state.nudges,
      retryAt: null,
      messages: event.parts.length === 0 ? state.messages : [...state.messages, replyMessage(state, event)],
    };
    if (open.length > 0) return { ...replied, phase: "ExecutingTools" };
    return { ...replied, phase: spoken ? "Reflecting" : "AwaitingLLM" };
  },

  ModelCallLost: (state) => state,

  BudgetDebited: (state, event) => ({ ...state, spent: add(state.spent, event.debit) }),

  ToolIntended: (state, { call, effect, key, argsDigest }) =>
    withCall(state, call, (open) => {
      ensure(open.status === "proposed", `call ${call} is ${open.status}, not proposed`);
      return { ...open, intent: { effect, key, argsDigest } };
    }),

  ToolInvoked: (state, { call, epoch }) =>
    withCall(state, call, (open) => {
      ensure(open.intent !== null, `call ${call} is started without an intent`);
      ensure(open.status !== "unknown", `call ${call} is unknown: only an answer releases it again`);
      ensure(open.releasedBy === null || open.intent.effect !== "unsafe", `unsafe call ${call} is released twice`);
      return { ...open, status: "started", releasedBy: epoch, probeAt: null };
    }),

  ToolResultRecorded: (state, { call, outcome, value, at }) => settle(state, call, { outcome, value, at }),

  ToolOutcomeUnknown: (state, { call, why, askFrom, at }) => {
    if (askFrom === null) return settle(state, call, { outcome: "unknown", value: inline(why), at });
    return afterCalls(
      withCall(state, call, (open) => ({
        ...open,
        status: "unknown",
        asked: open.asked + 1,
        askFrom,
        probeAt: null,
      })),
    );
  },

  ToolResultReconciled: (state, { call, answer, at }) => {
    const unknown = state.open.find(
      (open) => open.call === call && (open.status === "unknown" || open.probeAt !== null),
    );
    ensure(unknown !== undefined, `nobody asked about call ${call}`);
    if (answer.as !== "retry") {
      const said = inline(answer.note ?? `a person says that it ${answer.as}`);
      return settle(state, call, { outcome: answer.as, value: answer.value ?? said, at });
    }
    // The answer is the permission: the commit of the next ToolInvoked releases the call once more.
    const again = { status: "proposed", releasedBy: null, answer: null, askFrom: null } as const;
    return afterCalls(withCall(state, call, (open) => ({ ...open, ...again })));
  },

  MessageAbsorbed: (state, event) => {
    if (event.stage === "cleared") {
      return { ...state, absorbed: state.absorbed.filter((id) => id !== event.message) };
    }
    ensure(!state.absorbed.includes(event.message), `message ${event.message} is absorbed twice`);
    const taken = { ...state, absorbed: [...state.absorbed, event.message] };
    if (event.body.kind === "user") return heard(taken, { text: event.body.text, by: event.body.by, at: event.at });
    const { call, asked, answer } = event.body;
    // A question that is no longer open was answered in another way; the surface refuses such answers before a write.
    const open = state.open.find((each) => each.call === call && each.status === "unknown" && each.asked === asked);
    return open === undefined ? taken : withCall(taken, call, (each) => ({ ...each, answer }));
  },

  RunPaused: (state) => ({ ...state, phase: "Paused", pausedFrom: state.phase }),

  RunResumed: (state) => ({ ...state, phase: state.pausedFrom ?? "AwaitingLLM", pausedFrom: null }),

  CheckFailed: (state) => state,

  RecoveryDecided: (state, { action, at }) => {
    switch (action.kind) {
      case "retry":
        return { ...state, phase: "RetryingLLM", retryAt: action.at, modelRetries: state.modelRetries + 1 };
      case "nudge":
        return {
          ...state,
          phase: "AwaitingLLM",
          nudges: state.nudges + 1,
          messages: [...state.messages, message(state, at, "cairn", "user", [text(action.say)])],
        };
      case "abort":
        return { ...state, ending: { kind: "failed", failure: action.failure } };
      case "cancel":
        return { ...state, ending: { kind: "cancelled" } };
      case "probe":
        return withCall(state, action.call, (open) => ({
          ...open,
          tries: open.tries + (action.tried ? 1 : 0),
          probeAt: action.at,
        }));
      case "again":
        return withCall(state, action.call, (open) => ({ ...open, tries: open.tries + 1 }));
      case "takeover":
        return state;
    }
  },

  RunEnded: (state, event) => {
    const ended = { ...state, ending: null, pausedFrom: null };
    if (event.status === "completed") return { ...ended, phase: "Completed", result: event.result };
    if (event.status === "cancelled") return { ...ended, phase: "Cancelled" };
    return { ...ended, phase: "Failed", failure: event.failure };
  },
};

function openCalls(state: State, parts: readonly ReplyPart[]): OpenCall[] {
  const proposed = parts.filter((part) => part.kind === "call");
  return proposed.map((part, index) => ({
    call: callId(state, index),
    tool: part.tool,
    status: "proposed",
    intent: null,
    releasedBy: null,
    tries: 0,
    asked: 0,
    askFrom: null,
    probeAt: null,
    answer: null,
  }));
}

const callId = (state: State, index: number): string => `c${state.calls + index + 1}`;

const wordy = (parts: readonly ReplyPart[]): boolean =>
  parts.some((part) => part.kind === "text" && part.text.trim() !== "");

function replyMessage(state: State, event: EventOf<"ModelCallCompleted">): Message {
  let index = 0;
  const parts = event.parts.map((part): Part => {
    if (part.kind !== "call") return part;
    index += 1;
    return { ...part, call: callId(state, index - 1) };
  });
  return message(state, event.at, `model:${event.model}`, "assistant", parts, event.tokensOut);
}

function message(
  state: State,
  at: number,
  source: string,
  role: Message["role"],
  parts: readonly Part[],
  tokens = 0,
): Message {
  return { id: `m${state.messages.length + 1}`, at, source, role, parts, tokens };
}

function withCall(state: State, call: string, change: (open: OpenCall) => OpenCall): State {
  ensure(
    state.open.some((each) => each.call === call),
    `call ${call} is not open`,
  );
  return { ...state, open: state.open.map((each) => (each.call === call ? change(each) : each)) };
}

/** Words that arrive in the middle of a run follow what is committed; a run that was done is not done any more. */
function heard(state: State, words: { text: string; by: string; at: number }): State {
  const said = message(state, words.at, `user:${words.by}`, "user", [text(words.text)]);
  // Also one that was paused in between: its words are taken in before it is resumed.
  const notDone = (phase: Phase): Phase => (phase === "Reflecting" ? "AwaitingLLM" : phase);
  const pausedFrom = state.pausedFrom === null ? null : notDone(state.pausedFrom);
  return { ...state, phase: notDone(state.phase), pausedFrom, messages: [...state.messages, said] };
}

/** A call is over: its result joins the transcript with its own time and source. */
function settle(state: State, call: string, as: { outcome: CallOutcome; value: Value; at: number }): State {
  const open = state.open.find((each) => each.call === call);
  ensure(open !== undefined, `call ${call} is not open`);
  const part: Part = { kind: "result", call, tool: open.tool, outcome: as.outcome, value: as.value };
  return afterCalls({
    ...state,
    open: state.open.filter((each) => each !== open),
    messages: [...state.messages, message(state, as.at, `tool:${open.tool}`, "tool", [part])],
  });
}

/** The phase follows from the calls: the last result closes the batch. A paused run stays so, as when it ends. */
function afterCalls(state: State): State {
  if (state.phase === "Paused") return state;
  if (state.open.length === 0) return { ...state, phase: "AwaitingLLM" };
  const blocked = state.open.every((call) => call.status === "unknown");
  return { ...state, phase: blocked ? "AwaitingReconcile" : "ExecutingTools" };
}

/** What must hold between two states, whatever happened. */
function assertState(before: State, after: State): void {
  ensure(after.messages.length >= before.messages.length, "messages are lost");
  const meters = Object.keys(before.spent) as (keyof Spent)[];
  ensure(
    meters.every((meter) => after.spent[meter] >= before.spent[meter]),
    "spent fell",
  );
  ensure(new Set(after.open.map((call) => call.call)).size === after.open.length, "two open calls share an id");
  ensure(
    after.open.every((call) => call.status !== "started" || (call.intent !== null && call.releasedBy !== null)),
    "a call is started without an intent",
  );
  ensure((after.phase === "Paused") === (after.pausedFrom !== null), "a paused run, and no other, knows where it was");
  ensure((after.phase === "Completed") === (after.result !== null), "a result belongs to a completed run");
  ensure((after.phase === "Failed") === (after.failure !== null), "a failure belongs to a failed run");
}
