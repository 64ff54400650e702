/**
 * Streams the events of a run as server-sent events. One message has the events of one commit, and its ID is the version
 * of that commit. So a reader that reconnects with `Last-Event-ID` loses no event and gets none twice.
 *
 * For a reader that asks for deltas, messages between them say what the model is saying: `event: delta`, whose ID names
 * the delta too, and `event: reset` for a step that has no reply. `event: slow` says that the model takes longer than usual.
 */
import { textOfEntry } from "../../history/entry-text.ts";
import type { EventPage } from "../../operations/event-page.ts";
import { cursorText } from "../../operations/live-cursor.ts";
import type { Live } from "../../operations/live-page.ts";
import type { TimelineEntry } from "../../operations/views.ts";
import { type PageOf, followRun } from "./follow-run.ts";
import type { OpenStreams, Seat } from "./open-streams.ts";

/** How long a reader waits before it reconnects. */
const RETRY_MS = 1_000;

/** What a reader asks for. `cursor`: a version, or with `deltas` any cursor of a page. */
interface Wanted {
  readonly cursor: string;
  readonly deltas: boolean;
  readonly startIndex: number | null;
  readonly streams: OpenStreams;
  readonly seat: Seat;
}

/** Streams the events behind the cursor, and from `startIndex` on. A response that is no page (an unknown run) is returned as it is. */
export async function streamEvents(pageOf: PageOf, wanted: Wanted): Promise<Response> {
  const { cursor, deltas, startIndex, streams, seat } = wanted;
  const from = startIndex === null ? "" : `&startIndex=${startIndex}`;
  let slowSince: number | undefined;
  /** Sent once for each call. It is no commit, so it has no ID, and a reader that reconnects gets it again. */
  const slowOf = (page: EventPage): string => {
    const isNews = page.slowSince !== undefined && page.slowSince !== slowSince;
    slowSince = page.slowSince;
    return isNews ? `event: slow\ndata: ${JSON.stringify({ since: slowSince })}\n\n` : "";
  };
  const place = (at: string): string => (deltas ? `deltas=true&cursor=${at}` : `after=${at.split(".")[0]}`);
  return followRun({
    pageOf,
    streams,
    seat,
    from: cursor,
    headers: {},
    opening: `retry: ${RETRY_MS}\n\n`,
    broken: "",
    queryOf: (at) => `${place(at)}${from}`,
    next: (page) => {
      const isOver = !page.inProgress && !page.more;
      const text = `${resetOf(page.live)}${messagesOf(page.entries)}${deltasOf(page)}${slowOf(page)}${isOver ? endOf(page) : ""}`;
      return { pieces: [text], isOver };
    },
  });
}

/** It has no ID: a reader that reconnects before the next message is told again. */
const resetOf = (live: Live | undefined): string =>
  live === undefined || live.reset === null ? "" : `event: reset\ndata: ${JSON.stringify(live.reset)}\n\n`;

const deltasOf = ({ live, next: version }: EventPage): string =>
  (live?.deltas ?? [])
    .map((delta) => `id: ${cursorText({ version, step: delta })}\nevent: delta\ndata: ${JSON.stringify(delta)}\n\n`)
    .join("");

/** One message for each commit. JSON contains no line break, so a message has one data line. */
const messagesOf = (entries: readonly TimelineEntry[]): string =>
  [...Map.groupBy(entries, ({ version }) => version)]
    .map(([version, events]) => `id: ${version}\ndata: [${events.map(textOfEntry).join(",")}]\n\n`)
    .join("");

const endOf = ({ next, status }: EventPage): string =>
  `id: ${next}\nevent: end\ndata: ${JSON.stringify({ status })}\n\n`;
