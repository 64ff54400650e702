/**
 * Sagas: a run undoes its effects in reverse order. Each undo is a call of its own, so it survives a crash. Then the
 * run ends, or restarts from its task under new idempotency keys.
 */
import type { Decided } from "../../core/features.ts";
import { settleHeld } from "../../core/calls/held-ends.ts";
import type { MessageBody } from "../../core/event.ts";
import { withoutLack } from "../../core/policy/holds.ts";
import { ensure } from "../../core/ensure.ts";
import { type Value, text } from "../../core/message.ts";
import { afterCalls, message, newCall, settleCall } from "../../core/calls/open-calls.ts";
import { afterRestart, endRepeats, undoneNext } from "../../core/calls/repeats.ts";
import type { OpenCall, State } from "../../core/state.ts";

/** Starts the compensation: calls that have not started never start, and unknown calls are settled as unknown. */
export function beginCompensation(given: State, _: unknown, { at }: Decided): State {
  const state = settleHeld(given, "wait", at);
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

/** An earlier request to cancel and undo was acknowledged, so a later request to restart does not override it. */
export function takeCompensate(state: State, body: Extract<MessageBody, { readonly kind: "compensate" }>): State {
  const { kind: _, ...compensate } = body;
  return state.compensate?.next === "cancel" ? state : { ...state, compensate };
}

/** Opens the undo of the newest effect that stands. One effect is undone at a time. */
export function beginUndo(state: State, { call }: { readonly call: string }): State {
  ensure(state.open.length === 0, "one effect is undone at a time");
  const newest = state.saga === undefined ? undoneNext(state) : state.undo?.at(-1)?.call;
  ensure(newest === call, `call ${call} is not the newest one that stands`);
  const parts = state.messages.flatMap((each) => each.parts);
  const found = parts.find((part) => part.kind === "call" && part.call === call);
  ensure(found?.kind === "call", `no reply proposed call ${call}`);
  return afterCalls({ ...state, open: [{ ...newCall(`undo-${call}`, found.tool), undoes: call }] });
}

/** Restarts the run: the task, the users' messages since, and the reason. Keys derive from `restart` (schedule 21). */
export function beginRestart(state: State, restart: { readonly text: string }, { at }: Decided): State {
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
    messages: [...state.messages, message(state, at, "cairn", "user", [text(restart.text)])],
  };
}
