/** Labels: what a run waits for, as text for humans. */
import { nextCompensationStep } from "../core/policy/ending.ts";
import { upgradesOf } from "../core/policy/holds.ts";
import { BOUNDS } from "../core/limits.ts";
import { detachedOut } from "../features/detached-calls/core.ts";
import { MENDS } from "../core/policy/mends.ts";
import { PHASES, isTerminal } from "../core/phases.ts";
import { EFFECTS, type Effect } from "../core/calls/effects.ts";
import { effectOf, stopsOnCancel } from "../core/calls/ledger.ts";
import { isReleased, heldWait } from "../core/calls/held-calls.ts";
import type { OpenCall, State, TopologyState } from "../core/state.ts";
import { newerBy } from "../codec/row.ts";
import { openMark } from "../protocol/restored.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import { askingSince } from "./summary.ts";

/** The model's provider does not answer. Times are epoch milliseconds; `tries`: how many calls failed. */
export interface ModelOutage {
  readonly since: number;
  readonly tries: number;
  readonly nextTryAt: number;
}

/** Null also during the quick retries: they are over in seconds and do not count as an outage. */
function outageIn({ phase, outage, retryAt }: State): ModelOutage | null {
  if (phase !== "RetryingLLM" || outage === undefined || outage.attempts <= BOUNDS.modelRetriesMax) return null;
  return { since: outage.since, tries: outage.attempts, nextTryAt: retryAt ?? 0 };
}

/** The job that an asynchronous model works on. Times are epoch milliseconds. */
export interface ShownDetachedCall {
  /** Its idempotency key, which the provider keeps with it. */
  readonly key: string;
  readonly model: string;
  /** The provider's name for it; null until it is known. */
  readonly reference: string | null;
  readonly since: number;
  /** When the run looks at it next, or before: every wake-up looks. */
  readonly nextLookAt: number;
}

/** What a run waits for at its model: the end of an outage, or a job. Null where it waits for neither. */
export interface ModelWaits {
  /** The model's provider does not answer: since when, after how many calls, and when the next call is due. */
  readonly outage: ModelOutage | null;
  readonly detachedCall: ShownDetachedCall | null;
}

export function modelWaits(row: Row, state: State): ModelWaits {
  const out = detachedOut(state);
  if (out === undefined) return { outage: outageIn(state), detachedCall: null };
  const { key, model, reference = null, at: since } = out;
  return { outage: outageIn(state), detachedCall: { key, model, reference, since, nextLookAt: row.wakeAt ?? 0 } };
}

/** A call under way in a run that is cancelled. */
export interface CallCancelled {
  readonly call: string;
  readonly tool: string;
  readonly effect: Effect;
  /** Its signal is aborted. Otherwise the run awaits its end, so that its outcome is known. */
  readonly stops: boolean;
}

/** The calls under way in a run that was asked to cancel and has not seen it; null for any other run. */
export function callsCancelled(row: Row, { open, ending }: State): readonly CallCancelled[] | null {
  if (!row.cancel || hasEnded(row) || ending?.kind === "cancelled") return null;
  const underWay = open.filter((each) => isReleased(each) && each.probeAt === null);
  return underWay.map((each) => ({
    call: each.call,
    tool: each.tool,
    effect: effectOf(each),
    stops: stopsOnCancel(each),
  }));
}

const cancelLabel = (calls: readonly CallCancelled[]): string => {
  const awaited = calls.filter(({ stops }) => !stops).map(({ tool, call }) => `${tool} (${call})`);
  return awaited.length === 0 ? "being cancelled" : `being cancelled: waits for ${awaited.join(", ")}`;
};

/** The label by row and state. */
export function labelOf(row: Row, state: State): string {
  const label = labelOfRow(row);
  if (row.storeOutage !== null || row.redrive !== undefined) return label;
  const cancelled = callsCancelled(row, state);
  if (cancelled !== null) return cancelLabel(cancelled);
  if (outageIn(state) !== null) return "waiting: its model is unavailable";
  const { lack } = upgradesOf(state);
  if (state.phase === "AwaitingAgent" && lack?.kind === "operator")
    return `waiting for an operator: ${MENDS[lack.mends].says}`;
  const out = detachedOut(state);
  if (out !== undefined) return `waiting for model job ${out.reference ?? out.key}`;
  const awaited = awaitedLabel(state);
  if (awaited !== null) return awaited;
  return nextCompensationStep(state) === null ? label : `${label}, to undo its effects`;
}

/**
 * What a run waits for whose open calls all wait: for what comes from outside, or until their earlier requests can no
 * longer take effect. Null for any other run.
 */
function awaitedLabel({ phase, open }: State): string | null {
  if (open.length > 0 && open.every((call) => heldWait(call) !== undefined)) {
    return `waiting: ${open.map((each) => `${each.tool} (${each.call}) ${waitWords(heldWait(each))}`).join(", ")}`;
  }
  const waiting = open.filter(({ probeAt }) => probeAt !== null);
  if (phase !== "ExecutingTools" || open.length === 0 || waiting.length < open.length) return null;
  const then = (call: OpenCall): string => (EFFECTS[effectOf(call)].hasProbe ? "is probed" : "runs again");
  const calls = waiting.map((call) => `${call.tool} (${call.call}) ${then(call)}`).join(", ");
  return `waiting until no earlier request can take effect: then ${calls}`;
}

const waitWords = (wait: ReturnType<typeof heldWait>): string =>
  wait?.for === "answer" ? "asks a human" : wait?.for === "event" ? `waits for event ${wait.event ?? ""}` : "sleeps";

/** The label as far as the row alone determines it. */
export function labelOfRow(row: Row): string {
  const { status, phase, storeOutage, redrive } = row;
  if (!hasEnded(row) && newerBy(row.run, row) !== null) return "waiting: a newer version of cairn";
  const mark = hasEnded(row) ? null : openMark(row);
  if (mark?.waits === true && row.pause) return "restored: it waits until an operator says what was checked";
  if (mark !== null && row.pause) return "restored and paused until an operator resumes it";
  if (status === "queued") return "waiting for its first beat";
  if (storeOutage !== null && !isTerminal(phase)) return `waiting: store unavailable (${storeOutage.store})`;
  if (phase === "ExecutingTools" && status === "waiting") return "waiting for an event or a time";
  if (redrive === undefined && askingSince(row) !== null) return "asking the model";
  return redrive === undefined ? PHASES[phase].label : "redriven, waiting for its next beat";
}

/** Where the topology stands, and the first signals of failures that the run gave. */
export const topologyIn = ({
  topology,
  cracks,
}: State): { readonly topology: TopologyState | null; readonly cracks: NonNullable<State["cracks"]> } => ({
  topology: topology ?? null,
  cracks: cracks ?? {},
});
