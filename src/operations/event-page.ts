/**
 * Reads the events of a run page by page, and waits for new ones (long poll). The cursor is the version of the last
 * commit that the reader has. A page ends between two commits, so a reader never sees a part of a commit.
 */
import { SIZES } from "../codec/limits.ts";
import type { Status } from "../core/phases.ts";
import { QUIET_LOOK_MS } from "../ports/delta-log.ts";
import { EVENTS_PER_TURN } from "../ports/reading.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import { unlessGone } from "../history/damage.ts";
import type { World } from "../ports/world.ts";
import { attachReader } from "./attach.ts";
import { textOfEntry } from "../history/entry-text.ts";
import type { LiveCursor } from "./live-cursor.ts";
import { type Live, cursorBehind, liveOf } from "./live-page.ts";
import { callUnderWay } from "./summary.ts";
import { type TimelineEntry, timelineWithRow } from "./views.ts";

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
  /** The call of the model that is under way takes longer than usual: since when it is asked. Absent otherwise. */
  readonly slowSince?: number;
  /** Only if the reader asks for deltas. */
  readonly live?: Live;
}

/** API Gateway ends a request after 29 seconds. */
export const POLL_SECONDS_MAX = 20;

/** The most bytes of events in one response. The rest of the body needs little. */
export const EVENT_BYTES_MAX = SIZES.httpBodyBytesMax - 64 * 1024;

/** What a reader asks for. */
export interface EventQuery {
  readonly run: string;
  readonly after: number;
  readonly wait: number;
  /** Leaves out the events before this one, counted from 0 over the whole run; null: none. */
  readonly startIndex?: number | null;
  /** The most bytes of `entries`, except that a page has at least one commit; null: all events. */
  readonly bytesMax: number | null;
}

/** Waits at most `wait` seconds for events after version `after`. Null if there is no such run, or no longer. */
export const pollEvents = (world: World, query: EventQuery): Promise<EventPage | null> => poll(world, query, null);

/**
 * The same with what the model is saying. The reader is attached to the run while it reads and for a while afterwards: a
 * model call that leaves meanwhile streams.
 */
export async function pollLive(
  world: World,
  query: Omit<EventQuery, "after"> & { readonly cursor: LiveCursor },
): Promise<EventPage | null> {
  const { cursor, run } = query;
  await attachReader(world, run);
  // A reader in the middle of a step goes on, so the index is only for its first page.
  const startIndex = cursor.step === null ? (query.startIndex ?? null) : null;
  return poll(world, { ...query, startIndex, after: cursor.version }, cursor);
}

async function poll(world: World, query: EventQuery, cursor: LiveCursor | null): Promise<EventPage | null> {
  const { clock, table } = world;
  const until = clock.now() + query.wait * 1_000;
  for (;;) {
    const row = await table.read(query.run, clock.now());
    if (row === null) return null;
    const leftMs = until - clock.now();
    const hasNews = row.version > query.after || hasEnded(row) || leftMs <= 0;
    if (hasNews || cursor !== null) {
      const found = row.version > query.after ? await entriesAfter(world, query) : { row, entries: [], more: false };
      if (found === null) return null;
      const page = pageOf(found, query, slowSince(world, found.row));
      if (cursor === null) return page;
      const live = await liveOf(world, { row: found.row, cursor, entries: page.entries, more: page.more });
      const isQuiet = live.reset === null && live.deltas.length === 0;
      if (hasNews || !isQuiet) return { ...page, live: { ...live, cursor: cursorBehind(cursor, { ...page, live }) } };
    }
    await new Promise<void>((resolve) => void clock.after(Math.min(leftMs, lookMs(world, row)), resolve));
  }
}

/** A run that waits for something outside is looked at seldom, so that many readers of idle conversations cost little. */
const lookMs = ({ deltas }: World, row: Row): number =>
  AT_WORK.has(row.status) || row.wakeCount !== row.wakeCountSeen ? deltas.pace.lookMs : QUIET_LOOK_MS;

const AT_WORK: ReadonlySet<Status> = new Set(["queued", "running"]);

/** Events, and the row from which they were read: another one could be of a later commit. */
interface Found {
  readonly row: Row;
  readonly entries: readonly TimelineEntry[];
  /** There are more events behind these. */
  readonly more: boolean;
}

/** The events after version `after`, and from `startIndex` on: the index counts over the whole run. */
async function entriesAfter(world: World, query: EventQuery): Promise<Found | null> {
  const { run, after, startIndex = null } = query;
  const { reading } = world;
  if (reading !== undefined && query.bytesMax !== null) {
    const row = await world.table.read(run, world.clock.now());
    if (row === null) return null;
    // While this reader waits for its turn the run may be removed, with its objects.
    const place = { after, startIndex, eventsMax: EVENTS_PER_TURN };
    const part = await unlessGone(world, row, () => reading.eventsAfter(row, place));
    return part && { row, ...part };
  }
  const all = await timelineWithRow(world, { run, after: startIndex === null ? after : 0 });
  if (all === null || startIndex === null) return all && { ...all, more: false };
  return { ...all, entries: all.entries.slice(startIndex).filter(({ version }) => version > after), more: false };
}

/** The page continues behind the row: its last commits may have no events, and a reader that waits waits for newer ones. */
function pageOf(
  { row, entries: all, more: isMore }: Found,
  { after, bytesMax }: { readonly after: number; readonly bytesMax: number | null },
  slow: number | null,
): EventPage {
  const entries = bytesMax === null ? all : fitting(all, bytesMax);
  const more = isMore || entries.length < all.length;
  const next = more ? (entries.at(-1)?.version ?? after) : Math.max(after, row.version);
  const page: EventPage = { kind: "shown", entries, next, more, status: row.status, inProgress: !hasEnded(row) };
  return slow === null ? page : { ...page, slowSince: slow };
}

function slowSince({ clock, limits: { modelMs } }: World, row: Row): number | null {
  const now = clock.now();
  const { askingSince, slowFrom } = callUnderWay(row, { now, modelMs });
  return slowFrom !== null && now >= slowFrom ? askingSince : null;
}

/** The events of the first commits that fit, and of one commit at least. */
function fitting(all: readonly TimelineEntry[], bytesMax: number): readonly TimelineEntry[] {
  let bytes = 0;
  let whole = 0;
  for (const [index, entry] of all.entries()) {
    bytes += Buffer.byteLength(textOfEntry(entry)) + 1;
    if (bytes > bytesMax && whole > 0) return all.slice(0, whole);
    if (all[index + 1]?.version !== entry.version) whole = index + 1;
  }
  return all;
}
