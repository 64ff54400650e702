/**
 * Watching a run until it ends or needs a person. It looks again and again: whoever works on the run may be in any
 * process, and may die at any moment.
 */
import { setTimeout as elapse } from "node:timers/promises";
import { type Row, hasEnded } from "../../protocol/row.ts";
import type { World } from "../../ports/world.ts";
import { type Shown, type TimelineEntry, readableTimeline, show } from "../../operations/views.ts";
import { EXIT } from "../errors.ts";

export interface FollowOptions {
  readonly run: string;
  readonly stop: AbortSignal;
  readonly lookEveryMs: number;
  /** Whole commits, in order, each once. */
  readonly onEntries: (entries: readonly TimelineEntry[]) => void;
  /** Older history than what was told cannot be read, and the run may need none of it; once at most. */
  readonly onLost: (why: string) => void;
  /** At every look at a run that goes on. */
  readonly onLook: (row: Row) => void;
}

/** `shown` is null when the run is gone: its time was over. */
export interface FollowEnd {
  readonly kind: "ended" | "blocked" | "stopped";
  readonly shown: Shown | null;
}

export async function follow(world: World, options: FollowOptions): Promise<FollowEnd> {
  const { run, stop, lookEveryMs, onEntries, onLost, onLook } = options;
  let told = 0;
  let isLost = false;
  for (;;) {
    const row = await world.table.read(run, world.clock.now());
    if (row === null) return { kind: "ended", shown: null };
    if (row.version > told) {
      const { entries, lost } = await readableTimeline(world, { row, after: told });
      // What was purged meanwhile is gone, and not damaged.
      if (lost !== null && (await world.table.read(run, world.clock.now()))?.born !== row.born)
        return { kind: "ended", shown: null };
      if (lost !== null && !isLost) onLost(lost);
      isLost ||= lost !== null;
      told = Math.max(row.version, entries.at(-1)?.version ?? 0);
      onEntries(entries);
    }
    if (hasEnded(row)) return { kind: "ended", shown: await show(world, run) };
    if (mayNeedPerson(row)) {
      const shown = await show(world, run);
      if (shown !== null && needsPerson(shown)) return { kind: "blocked", shown };
    }
    onLook(row);
    await elapse(lookEveryMs, undefined, { signal: stop }).catch(() => {});
    if (stop.aborted) return { kind: "stopped", shown: await show(world, run) };
  }
}

/** An answer that nobody took in yet stirs the run: it may be on its way already. */
const mayNeedPerson = (row: Row): boolean =>
  (row.status === "blocked" || row.status === "paused" || row.status === "waiting") &&
  row.stirs === row.stirsSeen &&
  row.owner === null;

/** A run whose agent cannot be loaded goes on as soon as its file is mended, and somebody may be at that. */
const needsPerson = ({ status, unknown, gates, waitsFor }: Shown): boolean =>
  status === "paused" ||
  (waitsFor?.kind === "upgrade" && !waitsFor.accepted) ||
  unknown.some(({ answered }) => !answered) ||
  gates.some(({ decided }) => !decided);

/** 130 and the like: what a shell expects of a command that was interrupted. */
export const SIGNAL_EXITS: Readonly<Record<string, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

export function exitOf({ kind, shown }: FollowEnd, stop: AbortSignal): number {
  if (kind === "stopped") return SIGNAL_EXITS[String(stop.reason)] ?? EXIT.failed;
  if (kind === "blocked") return EXIT.refused;
  return shown?.status === "completed" ? EXIT.done : EXIT.failed;
}
