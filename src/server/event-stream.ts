/**
 * Streams the events of a run as server-sent events. One message has the events of one commit, and its ID is the version
 * of that commit. So a reader that reconnects with `Last-Event-ID` loses no event and gets none twice.
 *
 * It reads pages of the API, one after the other, when the reader has taken the page before: a slow reader costs no
 * memory. A reader that closes the connection ends the reading within `WAIT_SECONDS`.
 */
import type { EventPage } from "../operations/event-page.ts";
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

/** The streams that are open. Each reads the store once a second, so their number is bounded. */
export class OpenStreams {
  readonly #open = new Set<() => void>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#open.size >= this.#max;
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

/** Streams the events after version `after`. A response that is no page (an unknown run) is returned as it is. */
export async function streamEvents(
  pageOf: PageOf,
  { after, streams }: { readonly after: number; readonly streams: OpenStreams },
): Promise<Response> {
  const first = await pageOf(queryOf(after, 0));
  if (first.status !== 200) return first;
  let page: EventPage | null = (await first.json()) as EventPage;
  let next = after;
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
      next = found.next;
      const isOver = !found.inProgress && !found.more;
      if (isOver) close();
      const text = `${messagesOf(found.entries)}${isOver ? endOf(found) : ""}`;
      quiet = text === "" ? quiet + 1 : 0;
      if (text !== "") return text;
      if (quiet % HEARTBEAT_PAGES === 0) return ": the run has no news\n\n";
    }
    return "";
  }
  /** Null if the run is gone or the store does not answer. The reader reconnects and is told then. */
  async function pageAfter(): Promise<EventPage | null> {
    const answer = await pageOf(queryOf(next, WAIT_SECONDS));
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

const queryOf = (after: number, wait: number): string => `?after=${after}&wait=${wait}&bytesMax=${PAGE_BYTES}`;

/** One message for each commit. JSON contains no line break, so a message has one data line. */
const messagesOf = (entries: readonly TimelineEntry[]): string =>
  [...Map.groupBy(entries, ({ version }) => version)]
    .map(([version, events]) => `id: ${version}\ndata: ${JSON.stringify(events)}\n\n`)
    .join("");

const endOf = ({ next, status }: EventPage): string =>
  `id: ${next}\nevent: end\ndata: ${JSON.stringify({ status })}\n\n`;
