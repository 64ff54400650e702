/**
 * Streams the events of a run as server-sent events. One message has the events of one commit, and its ID is the version
 * of that commit. So a reader that reconnects with `Last-Event-ID` loses no event and gets none twice.
 *
 * For a reader that asks for deltas, messages between them say what the model is saying: `event: delta`, whose ID names
 * the delta too, and `event: reset` for a step that has no reply.
 *
 * It reads pages of the API, one after the other, when the reader has taken the page before: a slow reader costs no
 * memory. A reader that closes the connection ends the reading within `WAIT_SECONDS`.
 */
import type { EventPage } from "../operations/event-page.ts";
import { cursorText } from "../operations/live-cursor.ts";
import type { Live } from "../operations/live-page.ts";
import type { TimelineEntry } from "../operations/views.ts";

/** How long one page waits for events, and so how long a closed stream may still read. */
const WAIT_SECONDS = 1;
/** Quiet pages until a comment keeps the connection open. */
const HEARTBEAT_PAGES = 15;
/** How long a reader waits before it reconnects. */
const RETRY_MS = 1_000;
/** A commit with more bytes is sent all the same. */
const PAGE_BYTES = 256 * 1024;

/** Gets a page of events from the API. */
export type PageOf = (query: string) => Promise<Response>;

const STREAMS_MAX = 256;

/** The streams that are open. Each reads the store once a second, so their number is bounded. */
export class OpenStreams {
  readonly #open = new Set<() => void>();
  readonly max = STREAMS_MAX;

  get isFull(): boolean {
    return this.#open.size >= this.max;
  }

  get size(): number {
    return this.#open.size;
  }

  add(close: () => void): void {
    this.#open.add(close);
  }

  delete(close: () => void): void {
    this.#open.delete(close);
  }

  closeAll(): void {
    for (const close of this.#open) close();
  }
}

/** Counts the response as open until it is complete, its reader is gone, or the server closes. */
export async function heldOpen(
  streams: OpenStreams,
  request: Request,
  answer: (request: Request) => Promise<Response>,
): Promise<Response> {
  const stop = new AbortController();
  const close = (): void => {
    streams.delete(close);
    stop.abort();
  };
  streams.add(close);
  try {
    const response = await answer(new Request(request, { signal: AbortSignal.any([request.signal, stop.signal]) }));
    // The body of a HEAD request is never read.
    if (response.body === null || request.method === "HEAD") {
      streams.delete(close);
      return new Response(null, response);
    }
    const ended = { flush: () => streams.delete(close), cancel: () => streams.delete(close) };
    const body = response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(ended));
    return new Response(body, response);
  } catch (error) {
    streams.delete(close);
    throw error;
  }
}

/** What a reader asks for. `cursor`: a version, or with `deltas` any cursor of a page. */
interface Wanted {
  readonly cursor: string;
  readonly deltas: boolean;
  readonly startIndex: number | null;
  readonly streams: OpenStreams;
}

/** Streams the events behind the cursor, and from `startIndex` on. A response that is no page (an unknown run) is returned as it is. */
export async function streamEvents(pageOf: PageOf, of: Wanted): Promise<Response> {
  const { startIndex, streams } = of;
  const from = startIndex === null ? "" : `&startIndex=${startIndex}`;
  const first = await pageOf(`${queryOf(of.cursor, { ...of, wait: 0 })}${from}`);
  if (first.status !== 200) return first;
  let page: EventPage | null = (await first.json()) as EventPage;
  let next = of.cursor;
  let quiet = 0;
  let isClosed = false;
  const close = (): void => {
    isClosed = true;
    streams.delete(close);
  };
  streams.add(close);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`)),
    pull: async (controller) => {
      try {
        const text = await more();
        if (text !== "") controller.enqueue(encoder.encode(text));
        if (isClosed) controller.close();
      } catch (error) {
        close();
        controller.error(error);
      }
    },
    cancel: close,
  });
  /** The next text to send. Returns nothing once the stream is closed. */
  async function more(): Promise<string> {
    while (!isClosed) {
      const found = page ?? (await pageAfter());
      page = null;
      if (isClosed || found === null) break;
      next = found.live?.cursor ?? `${found.next}`;
      const isOver = !found.inProgress && !found.more;
      if (isOver) close();
      const text = `${resetOf(found.live)}${messagesOf(found.entries)}${deltasOf(found)}${isOver ? endOf(found) : ""}`;
      quiet = text === "" ? quiet + 1 : 0;
      if (text !== "") return text;
      if (quiet % HEARTBEAT_PAGES === 0) return ": the run has no news\n\n";
    }
    return "";
  }
  /** Null if the run is gone or the store does not answer. The reader reconnects and is told then. */
  async function pageAfter(): Promise<EventPage | null> {
    const answer = await pageOf(`${queryOf(next, { ...of, wait: WAIT_SECONDS })}${from}`);
    if (answer.status === 200) return (await answer.json()) as EventPage;
    close();
    return null;
  }
  const headers = {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  return new Response(body, { headers });
}

const queryOf = (cursor: string, { deltas, wait }: { readonly deltas: boolean; readonly wait: number }): string => {
  const place = deltas ? `deltas=true&cursor=${cursor}` : `after=${cursor.split(".")[0]}`;
  return `?${place}&wait=${wait}&bytesMax=${PAGE_BYTES}`;
};

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
    .map(([version, events]) => `id: ${version}\ndata: ${JSON.stringify(events)}\n\n`)
    .join("");

const endOf = ({ next, status }: EventPage): string =>
  `id: ${next}\nevent: end\ndata: ${JSON.stringify({ status })}\n\n`;
