/**
 * Follows a run until it ends or needs a human. It polls the store, because the run may be driven by any process, which
 * may die at any moment.
 */
import type { Status } from "../../core/phases.ts";
import { type Row, hasEnded } from "../../protocol/row.ts";
import type { World } from "../../ports/world.ts";
import { labelOfRow } from "../../operations/labels.ts";
import { callUnderWay } from "../../operations/summary.ts";
import { askingWords } from "../../render/outage.ts";
import { attachReader } from "../../operations/attach.ts";
import { type LiveCursor, parseCursor } from "../../operations/live-cursor.ts";
import { type Live, cursorBehind, liveOf } from "../../operations/live-page.ts";
import { type Shown, type TimelineEntry, readableTimeline, show } from "../../operations/views.ts";
import { EXIT } from "../../compose/user-error.ts";
import { type Bell, createBell } from "./bell.ts";

export interface FollowOptions {
  readonly run: string;
  readonly stop: AbortSignal;
  /** Receives whole commits, in order, each once. */
  readonly onEntries: (entries: readonly TimelineEntry[]) => void;
  /** Called at most once, if history before the reported entries cannot be read. The run may not need that history. */
  readonly onLost: (why: string) => void;
  /** Called at every poll of a run that has not ended, with what it does. `isAttended`: whether a process drives it. */
  readonly onLook: (label: string, isAttended: boolean) => void;
  /** Receives what the model is saying. Absent: its calls do not stream for this reader. */
  readonly onLive?: (live: Pick<Live, "reset" | "deltas">) => void;
  /** Rings when the run may have ended or stopped for a human. Absent: each look is a poll. */
  readonly bell?: Bell;
}

/**
 * How following ended. `shown` is null if the run is gone, because its retention expired or it was purged, and where a
 * reader of an API was stopped.
 */
export interface FollowEnd {
  readonly kind: "ended" | "blocked" | "stopped";
  readonly shown: Shown | null;
}

interface Polling extends Omit<FollowOptions, "onLook"> {
  readonly lookEveryMs: number;
  readonly onLook: (label: string) => void;
}

/** Polls a run until it ends, needs a human or is interrupted. Reports new events on the way. */
export async function follow(world: World, options: Polling): Promise<FollowEnd> {
  const { run, stop, lookEveryMs, onEntries, onLost, onLook, onLive, bell = createBell() } = options;
  let told = 0;
  let isLost = false;
  let cursor: LiveCursor = { version: 0, step: null };
  for (;;) {
    if (onLive !== undefined) await attachReader(world, run);
    const row = await world.table.read(run, world.clock.now());
    if (row === null) return { kind: "ended", shown: null };
    let news: readonly TimelineEntry[] = [];
    if (row.version > told) {
      const { entries, lost } = await readableTimeline(world, { row, after: told });
      // Missing history of a run that was purged meanwhile is not damage.
      if (lost !== null && (await world.table.read(run, world.clock.now()))?.born !== row.born)
        return { kind: "ended", shown: null };
      if (lost !== null && !isLost) onLost(lost);
      isLost ||= lost !== null;
      told = Math.max(row.version, entries.at(-1)?.version ?? 0);
      news = entries;
      if (onLive === undefined) onEntries(entries);
    }
    if (onLive !== undefined) {
      const live = await liveOf(world, { row, cursor, entries: news, more: false });
      cursor = parseCursor(cursorBehind(cursor, { next: row.version, live }));
      if (live.reset !== null) onLive({ ...live, deltas: [] });
      if (news.length > 0) onEntries(news);
      if (live.deltas.length > 0) onLive({ ...live, reset: null });
    }
    if (hasEnded(row)) return { kind: "ended", shown: await show(world, run) };
    if (mayNeedPerson(row)) {
      const shown = await show(world, run);
      if (shown !== null && needsPerson(shown)) return { kind: "blocked", shown };
    }
    const at = { now: world.clock.now(), modelMs: world.limits.modelMs };
    const { askingSince, slowFrom } = callUnderWay(row, at);
    onLook(askingSince === null ? labelOfRow(row) : askingWords({ askingSince, slowFrom }, at.now));
    await bell.wait(lookEveryMs, stop);
    if (stop.aborted) return { kind: "stopped", shown: await show(world, run) };
  }
}

/** The states in which a run may need a human. */
export const MAY_NEED_PERSON: ReadonlySet<Status> = new Set(["blocked", "paused", "waiting"]);

/** Whether a run may need a human. A wake-up that no beat has seen yet may already carry the missing decision. */
const mayNeedPerson = (row: Row): boolean =>
  MAY_NEED_PERSON.has(row.status) && row.wakeCount === row.wakeCountSeen && row.owner === null;

/** Whether a run needs a human. One whose agent cannot be loaded does not: it goes on once its file is repaired. */
export const needsPerson = ({ status, unknown, gates, waits, waitsFor }: Shown): boolean =>
  status === "paused" ||
  waitsFor?.kind === "operator" ||
  (waitsFor?.kind === "upgrade" && !waitsFor.accepted) ||
  unknown.some(({ answered }) => !answered) ||
  gates.some(({ decided }) => !decided) ||
  waits.some((wait) => wait.for === "answer" && !wait.answered);

/**
 * Exit codes that a shell expects of a command that a signal interrupted, such as 130. A reader that has gone, as in
 * `cairn watch RUN | head -1`, has all that it wants.
 */
export const SIGNAL_EXITS: Readonly<Record<string, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143, SIGPIPE: 0 };

/** The exit code for the way in which following ended: 4 (refused) if the run needs a human. */
export function exitOf({ kind, shown }: FollowEnd, stop: AbortSignal): number {
  if (kind === "stopped") return SIGNAL_EXITS[String(stop.reason)] ?? EXIT.failed;
  if (kind === "blocked") return EXIT.refused;
  return shown?.status === "completed" ? EXIT.done : EXIT.failed;
}
