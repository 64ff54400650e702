/**
 * What a model is saying at this moment, as a part of a page of events. The reader's cursor names the last commit that it
 * has and the last delta behind it, so a reader that reconnects gets nothing twice and misses nothing that is kept.
 *
 * Schedule 183: a page reads the row and its events, the reply is committed, then the page reads the deltas. It gives
 * deltas only of the version that this row had, and the next page has the commit, so the reply replaces them.
 */
import { DELTAS, type Delta, type DeltaPlace } from "../ports/delta-log.ts";
import { StoreUnreachable, type World } from "../ports/world.ts";
import { type Incarnation, type Row, hasEnded } from "../protocol/row.ts";
import { type ModelStep, fateOf } from "../protocol/step.ts";
import { type LiveCursor, cursorText } from "./live-cursor.ts";
import type { TimelineEntry } from "./views.ts";

/** A step whose streamed text belongs to no reply. A reader drops or marks what it showed of it. */
export interface Reset extends ModelStep {
  /** `takeover`: another invocation goes on with the run. `noReply`: the call failed, timed out or was cut short. */
  readonly why: "takeover" | "noReply";
}

/** The live part of a page of events. Apply `reset` first, then the events of the page, then the deltas. */
export interface Live {
  /** Continues behind the events and deltas of this page. */
  readonly cursor: string;
  /** The step that the cursor of the request was in has no reply; null: it goes on, or its reply is in the events. */
  readonly reset: Reset | null;
  /** What the open step added. A reader replaces the text of a step by the next `ModelCallCompleted`. */
  readonly deltas: readonly Delta[];
}

/** What a page knows when it looks for deltas. */
interface LookedAt {
  readonly row: Row;
  readonly cursor: LiveCursor;
  /** The events behind the cursor's version that are on the page. */
  readonly entries: readonly TimelineEntry[];
  /** The run has more events already. */
  readonly more: boolean;
}

/** The live part of a page. Where not all events fit, the deltas wait for a later page. */
export async function liveOf(world: Pick<World, "deltas" | "clock">, looked: LookedAt): Promise<Omit<Live, "cursor">> {
  const { row, cursor, more } = looked;
  const reset = resetIn(looked);
  if (more || hasEnded(row) || row.owner === null) return { reset, deltas: [] };
  const { run, born, epoch, version } = row;
  const isSame = cursor.version === version && cursor.step?.epoch === epoch;
  const after = { epoch, version, seq: isSame ? (cursor.step?.seq ?? 0) : 0 };
  const found = await deltasAfter(world, { run, born, after });
  return { reset, deltas: found.filter((delta) => delta.epoch === epoch && delta.version === version) };
}

/** Without the delta log, a reader gets the events only. */
async function deltasAfter(
  { deltas, clock }: Pick<World, "deltas" | "clock">,
  place: Incarnation & { readonly after: DeltaPlace },
): Promise<readonly Delta[]> {
  try {
    return await deltas.read({ ...place, limit: DELTAS.readMax, now: clock.now() });
  } catch (error) {
    if (error instanceof StoreUnreachable) return [];
    throw error;
  }
}

/** Whether the step of the cursor has no reply, judged by the row and the commit behind the step. */
function resetIn({ row, cursor, entries }: LookedAt): Reset | null {
  if (cursor.step === null) return null;
  const step = { epoch: cursor.step.epoch, version: cursor.version };
  const commit = entries.filter(({ version }) => version === step.version + 1);
  const [first] = commit;
  const hasReply = commit.some(({ kind }) => kind === "ModelCallCompleted");
  const next = first === undefined ? null : { epoch: first.epoch, hasReply };
  if (fateOf(step, { row: { ...row, hasEnded: hasEnded(row) }, next }) !== "lost") return null;
  return { ...step, why: (next?.epoch ?? row.epoch) === step.epoch ? "noReply" : "takeover" };
}

/** The cursor behind a page. After a reset the reader is in no step, unless the page begins a new one. */
export function cursorBehind(
  cursor: LiveCursor,
  { next, live }: { readonly next: number; readonly live: Omit<Live, "cursor"> },
): string {
  const last = live.deltas.at(-1);
  if (last !== undefined) return cursorText({ version: next, step: last });
  const stays = live.reset === null && next === cursor.version;
  return cursorText({ version: next, step: stays ? cursor.step : null });
}
