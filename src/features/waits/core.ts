/**
 * Waits as changes of the state: calls that wait for an answer, an event or a time. The first answer to a question
 * counts. An event ends one wait. One that comes before its wait is kept, and the wait finds it.
 */
import { WAITING_PHASES } from "../../core/phases.ts";
import type { EventRows } from "../../core/features.ts";
import type { WaitEvents, AnswerGiven, EventSignalled, Wait } from "../../core/wait.ts";
import type { WaitCommand } from "../../core/commands.ts";
import { ensure } from "../../core/ensure.ts";
import type { EventOf } from "../../core/event.ts";
import type { HeldAs } from "../../core/held-by.ts";
import { BOUNDS } from "../../core/limits.ts";
import { isModelOut } from "../../core/policy/model-out.ts";
import type { OpenCall, State } from "../../core/state.ts";
import { isDue, limitOf, heldWait, isForTime, waitIn } from "../../core/calls/held-calls.ts";
import { afterCalls, isNext, updateCall, waitsForEarlierCall } from "../../core/calls/open-calls.ts";

/** The call waits from here on. It takes an event of its name that came before. */
function beginWait(state: State, { call, epoch, wait, at }: EventOf<"WaitBegun">): State {
  const begun = updateCall(state, call, (open) => {
    ensure(open.intent !== null && isNext(open), `call ${call} is ${open.status}, and cannot begin to wait`);
    ensure(!waitsForEarlierCall(state.open, open), `call ${call} waits for an earlier call`);
    return { ...open, status: "started", releasedBy: epoch, heldBy: { ...wait, by: "wait", from: at, question: 1 } };
  });
  return afterCalls(wait.for === "event" ? takeKept({ ...begun, signals: begun.signals ?? [] }, call) : begun);
}

/** Gives the call the oldest kept event that it waits for. */
function takeKept(state: State, call: string): State {
  const { signals = [] } = state;
  const waits = state.open.find((open) => open.call === call);
  const name = waits && waitIn(waits)?.event;
  const found = signals.find(({ event }) => event === name);
  if (found === undefined) return state;
  const { event: _, ...given } = found;
  const without = { ...state, signals: signals.filter((each) => each !== found) };
  return updateCall(without, call, (open) => withWait(open, (wait) => ({ ...wait, given })));
}

/** The first answer counts, and only an answer to the question that is open. */
export function takeAnswer(state: State, body: AnswerGiven): State {
  if (reasonToIgnore(state, body) !== null) return state;
  const { kind: _, call, question: _question, ...given } = body;
  return updateCall(state, call, (open) => withWait(open, (wait) => ({ ...wait, given })));
}

const isQuestion = (wait: Wait, asked: number): boolean =>
  wait.for === "answer" && wait.question === asked && wait.given === undefined;

/** The call that has waited longest for the event; undefined if none waits for it. */
export const callAwaiting = ({ open }: Pick<State, "open">, event: string): OpenCall | undefined =>
  open.find((call) => waitIn(call)?.event === event && !isDue(call));

/** The call that has waited longest for the event gets it. Otherwise the event is kept, if there is room. */
export function takeSignal(state: State, body: EventSignalled): State {
  if (reasonToIgnore(state, body) !== null) return state;
  const { kind: _, ...signal } = body;
  const { event, ...given } = signal;
  const found = callAwaiting(state, event);
  if (found !== undefined) {
    return updateCall(state, found.call, (open) => withWait(open, (wait) => ({ ...wait, given })));
  }
  if (!mayKeep(state)) return state;
  return { ...state, signals: [...(state.signals ?? []), signal] };
}

/** Only a run whose agent can wait for events keeps one that comes early, and only a bounded number of them. */
const mayKeep = ({ signals }: State): boolean => signals !== undefined && signals.length < BOUNDS.signalsMax;

/** Why an answer or event that came has no effect; null: it has one, or it is kept. */
export function reasonToIgnore(state: State, body: AnswerGiven | EventSignalled): string | null {
  if (state.ending !== null || state.saga !== undefined) return "the run is to end, and waits for nothing any more";
  if (body.kind === "signal") {
    if (callAwaiting(state, body.event) !== undefined || mayKeep(state)) return null;
    // A provider may report the reply by any event: it wakes the run, which then looks for the reply.
    if (isModelOut(state)) return null;
    return state.signals === undefined
      ? "no tool of its agent waits for events"
      : `${BOUNDS.signalsMax} events are kept already that no call waits for`;
  }
  const open = state.open.find(({ call }) => call === body.call);
  const wait = open && waitIn(open);
  if (wait === undefined) return "its question was closed before the run read the answer";
  return isQuestion(wait, body.question) ? null : "the question has another answer already, or was asked again";
}

/** What came does not fit: the question is open again under the next number. */
function refuseInput(state: State, { call, question: asked, why }: EventOf<"InputRefused">): State {
  const asksAgain = updateCall(state, call, (open) =>
    withWait(open, ({ given, ...wait }) => {
      ensure(given !== undefined && wait.question === asked, `call ${call} has no input for question ${asked}`);
      return { ...wait, question: asked + 1, refused: why };
    }),
  );
  return takeKept(asksAgain, call);
}

function withWait(open: OpenCall, change: (wait: HeldAs<"wait">) => HeldAs<"wait">): OpenCall {
  const wait = waitIn(open);
  ensure(wait !== undefined, `call ${open.call} does not wait`);
  return { ...open, heldBy: change(wait) };
}

/** Which time ends a wait: `counted` one for a time, and `earliest` one whose answer or event would be lost. */
export interface WaitTimes {
  readonly counted: number;
  readonly earliest: number;
}

/** What the calls that wait for an answer, an event or a time need now. */
export function waitsOwed({ open }: State, times: WaitTimes): readonly WaitCommand[] {
  const waiting = open.filter((call) => heldWait(call) !== undefined);
  const given = waiting.filter(isDue).map(({ call }) => call);
  if (given.length > 0) return [{ kind: "takeInputs", calls: given }];
  const late = waiting.find((call) => times[isForTime(call) ? "counted" : "earliest"] >= (limitOf(call) ?? Infinity));
  return late === undefined ? [] : [{ kind: "endWait", call: late.call }];
}

/** The events of this feature: in which phases each may happen, and what it changes. */
export const WAIT_EVENTS: EventRows<keyof WaitEvents> = {
  WaitBegun: { in: ["ExecutingTools"], apply: beginWait },
  InputRefused: { in: ["ExecutingTools", ...WAITING_PHASES], apply: refuseInput },
  InputIgnored: { in: "live", apply: (state) => state },
};
