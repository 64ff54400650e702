/** What a run waits for, in words for people. */
import { BOUNDS } from "../core/limits.ts";
import { PHASES, isTerminal } from "../core/phases.ts";
import { undoOwed } from "../core/calls/saga.ts";
import type { State } from "../core/state.ts";
import { newerBy } from "../codec/row.ts";
import { type Row, hasEnded } from "../protocol/row.ts";

/** Its model's provider gives no answers: since when, how many calls failed, and when it is asked again. */
export interface ModelOutage {
  readonly since: number;
  readonly tries: number;
  readonly nextTryAt: number;
}

/** The quick retries are over in seconds, and no outage yet. */
export function outageIn({ phase, outage, retryAt }: State): ModelOutage | null {
  if (phase !== "RetryingLLM" || outage === undefined || outage.tries <= BOUNDS.modelRetriesMax) return null;
  return { since: outage.since, tries: outage.tries, nextTryAt: retryAt ?? 0 };
}

export function labelOf(row: Row, state: State): string {
  const label = labelOfRow(row);
  if (row.storeOutage !== null || row.redrive !== undefined) return label;
  if (outageIn(state) !== null) return "waiting: its model is unavailable";
  return undoOwed(state) === null ? label : `${label}, to undo what it did`;
}

/** What the run waits for, as far as its row says it. */
export function labelOfRow(row: Row): string {
  const { status, phase, storeOutage, redrive } = row;
  if (!hasEnded(row) && newerBy(row.run, row) !== null) return "waiting: a newer version of cairn";
  if (status === "queued") return "waiting for its first beat";
  if (storeOutage !== null && !isTerminal(phase)) return `waiting: store unavailable (${storeOutage.store})`;
  return redrive === undefined ? PHASES[phase].label : "redriven, waiting for its next beat";
}
