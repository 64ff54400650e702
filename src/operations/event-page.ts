/**
 * Reads the events of a run page by page, and waits for new ones (long poll). The cursor is the version of the last
 * commit that the reader has. A page ends between two commits, so a reader never sees a part of a commit.
 */
import { SIZES } from "../codec/limits.ts";
import type { Status } from "../core/phases.ts";
import { hasEnded } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { type TimelineEntry, timeline } from "./views.ts";

/** Events of a run, and where the next page begins. */
export interface EventPage {
  readonly kind: "shown";
  readonly entries: readonly TimelineEntry[];
  /** The cursor of the next page: its `after`. */
  readonly next: number;
  /** The run has committed more events already. */
  readonly more: boolean;
  readonly status: Status;
  /** False if the run has ended. It has no further events then, unless it is redriven. */
  readonly inProgress: boolean;
}

/** API Gateway ends a request after 29 seconds. */
export const POLL_SECONDS_MAX = 20;

/** The most bytes of events in one response. The rest of the body needs little. */
export const EVENT_BYTES_MAX = SIZES.httpBodyBytesMax - 64 * 1024;

const POLL_MS = 500;

/** Waits at most `wait` seconds for events after version `after`. Null if there is no such run, or no longer. */
export async function pollEvents(
  world: World,
  of: {
    readonly run: string;
    readonly after: number;
    readonly wait: number;
    /** The most bytes of `entries`, except that a page has at least one commit; null: all events. */
    readonly bytesMax: number | null;
  },
): Promise<EventPage | null> {
  const { clock, table } = world;
  const until = clock.now() + of.wait * 1_000;
  for (;;) {
    const row = await table.read(of.run, clock.now());
    if (row === null) return null;
    const leftMs = until - clock.now();
    if (row.version > of.after || hasEnded(row) || leftMs <= 0) {
      const entries = row.version > of.after ? await timeline(world, of) : [];
      return entries === null ? null : pageOf(entries, { ...of, status: row.status, inProgress: !hasEnded(row) });
    }
    await new Promise<void>((resolve) => void clock.after(Math.min(leftMs, POLL_MS), resolve));
  }
}

function pageOf(
  all: readonly TimelineEntry[],
  of: { readonly after: number; readonly bytesMax: number | null } & Pick<EventPage, "status" | "inProgress">,
): EventPage {
  const { status, inProgress, bytesMax } = of;
  const entries = bytesMax === null ? all : fitting(all, bytesMax);
  const next = entries.at(-1)?.version ?? of.after;
  return { kind: "shown", entries, next, more: entries.length < all.length, status, inProgress };
}

/** The events of the first commits that fit, and of one commit at least. */
function fitting(all: readonly TimelineEntry[], bytesMax: number): readonly TimelineEntry[] {
  let bytes = 0;
  let whole = 0;
  for (const [index, entry] of all.entries()) {
    bytes += Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (bytes > bytesMax && whole > 0) return all.slice(0, whole);
    if (all[index + 1]?.version !== entry.version) whole = index + 1;
  }
  return all;
}
