/**
 * Sagas: a run undoes its effects in reverse order. Each undo is a call of its own, so it survives a crash.
 * Then the run ends, or restarts from its task under new idempotency keys. Used by `transition.ts`, which maps each
 * event to its change.
 */
import { ensure } from "../../core/ensure.ts";
import { type Value, text } from "../../core/message.ts";
import { afterCalls, mayHaveHappened, message, newCall, settleCall } from "../../core/calls/open-calls.ts";
import { afterRestart, endRepeats, undoneNext } from "../../core/calls/repeats.ts";
import { settleWaits } from "../waits/core.ts";
import type { OpenCall, State } from "../../core/state.ts";
import { withoutLack } from "../upgrades/core.ts";

/** What a run still does before its decided end. It starts nothing else. */
export type CompensationStep = "compensate" | "undo" | "calls" | "conclude";

/** Null if nothing is to be undone before the end, or if no end is decided. */
export function nextCompensationStep(state: State): CompensationStep | null {
  const { ending, saga, open, undo = [] } = state;
  if (ending === null || ending.forced === true || (ending.kind === "failed" && ending.next === "leave")) return null;
  if (ending.kind === "cancelled" && !asksToUndo(state)) return null;
  if (saga !== undefined)
    return open.length > 0 ? "calls" : undo.length > 0 ? "undo" : ending.kind === "failed" ? "conclude" : null;
  const again = ending.kind === "failed" && wantsRestart(state);
  return undo.length > 0 || open.some(mayHaveHappened) || again ? "compensate" : null;
}

/** An operator asked for a restart, and the run has started. */
export const wantsRestart = ({ compensate, phase }: State): boolean =>
  compensate?.next === "restart" && phase !== "Preparing";

/** An operator cancelled the run after another word had decided that it restarts: that end holds no longer. */
export const isRestartRevoked = (state: State): boolean =>
  state.ending?.kind === "failed" && state.ending.restarts === true && asksToUndo(state);

const asksToUndo = ({ compensate }: State): boolean => compensate?.next === "cancel";

/** Starts the compensation: calls that have not started never start, and unknown calls are settled as unknown. */
export function beginCompensation(given: State, at: number): State {
  const state = settleWaits(given, at);
  const { extension } = state;
  // What only a human could undo is not asked about any more: the saga undoes by tools alone.
  const isOfSaga = ({ undoes }: OpenCall): boolean => (state.undo ?? []).some(({ call }) => call === undoes);
  const still = state.open.filter(isOfSaga);
  const others = state.open.filter(({ undoes }) => undoes === undefined);
  ensure(
    others.every(({ status }) => status !== "started"),
    "a call that may be running is unknown before anything is undone",
  );
  const begun: State = {
    ...endRepeats(state),
    ...withoutLack(state),
    ...(extension === undefined ? {} : { extension: { ...extension, gate: null } }),
    pausedFrom: null,
    retryAt: null,
    saga: { ...state.saga, leftInPlace: [] },
  };
  const settled = others.reduce((next, { call, status, unbegun }) => {
    const isUnknown = status === "unknown" && unbegun === undefined;
    const outcome = isUnknown ? "unknown" : "failed";
    const value: Value = { kind: "inline", json: isUnknown ? UNKNOWN : NEVER_STARTED };
    return settleCall(next, call, { outcome, value, at });
  }, begun);
  return afterCalls({ ...settled, open: still });
}

const UNKNOWN = "nobody knows whether it happened";
const NEVER_STARTED = "NotStarted: the run has to stop; it did not happen";

/** Opens the undo of the newest effect that stands. One effect is undone at a time. */
export function beginUndo(state: State, call: string): State {
  ensure(state.open.length === 0, "one effect is undone at a time");
  const newest = state.saga === undefined ? undoneNext(state) : state.undo?.at(-1)?.call;
  ensure(newest === call, `call ${call} is not the newest one that stands`);
  const parts = state.messages.flatMap((each) => each.parts);
  const found = parts.find((part) => part.kind === "call" && part.call === call);
  ensure(found?.kind === "call", `no reply proposed call ${call}`);
  return afterCalls({ ...state, open: [{ ...newCall(`undo-${call}`, found.tool), undoes: call }] });
}

/** Restarts the run: the task, the users' messages since, and the reason. Keys derive from `restart` (schedule 21). */
export function beginRestart(state: State, { say, at }: { readonly say: string; readonly at: number }): State {
  ensure(state.children.length === 0, "no restart while a child may report");
  const { saga: _, stopsFor: _stop, closingCallLost: _lost, compensate: _by, ...failed } = state;
  const { outage: _outage, failedSummaries: _summaries, ...kept } = failed;
  // The topology begins again as well. Its cap on beats does not: it is part of the budget.
  const { topology: _topology, repeats: _repeats, ...rest } = kept;
  const from = state.messages.length;
  const words = state.messages.filter(({ source }) => source.startsWith("user:"));
  return {
    ...rest,
    ...afterRestart(state),
    restart: state.restart + 1,
    phase: "AwaitingLLM",
    ending: null,
    undo: [],
    modelRetries: 0,
    nudges: 0,
    restartedFrom: from,
    window: { from, lead: words.map(({ id }) => id) },
    messages: [...state.messages, message(state, at, "cairn", "user", [text(say)])],
  };
}
