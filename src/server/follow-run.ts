/**
 * Follows a run: server-sent events, made of pages of the API's events and of what the model says. It reads the next page
 * when the client has taken what came before, so a slow client costs no memory. A client that closes the connection ends
 * the reading within `WAIT_SECONDS`.
 */
import type { EventPage } from "../operations/event-page.ts";
import type { OpenStreams } from "./open-streams.ts";

/** How long one page waits for events, and so how long a closed stream may still read. */
const WAIT_SECONDS = 1;
/** A commit with more bytes is sent all the same. */
const PAGE_BYTES = 256 * 1024;
/** Quiet pages until a comment keeps the connection open. */
const HEARTBEAT_PAGES = 15;

/** Gets a page of events from the API. */
export type PageOf = (query: string) => Promise<Response>;

export interface Followed {
  readonly pageOf: PageOf;
  readonly streams: OpenStreams;
  /** The cursor of the first page. */
  readonly from: string;
  /** What a page is asked for behind a cursor. */
  readonly queryOf: (cursor: string) => string;
  readonly headers: Readonly<Record<string, string>>;
  /** The first text of the stream. */
  readonly opening: string;
  /** The last text of a stream that ends before it is over: the store does not answer, or the server closes. */
  readonly broken: string;
  /** What the client gets of one page. `isOver`: it is the last text. */
  readonly next: (page: EventPage) => { readonly text: string; readonly isOver: boolean };
}

/** Answers with the stream, or with the API's response if there is no such run. */
export async function followRun(of: Followed): Promise<Response> {
  const { pageOf, streams } = of;
  const pageBehind = (cursor: string, wait: number): Promise<Response> =>
    pageOf(`?${of.queryOf(cursor)}&wait=${wait}&bytesMax=${PAGE_BYTES}`);
  await streams.pageTurn();
  const first = await pageBehind(of.from, 0);
  if (first.status !== 200) return first;
  let page: EventPage | null = (await first.json()) as EventPage;
  let isClosed = false;
  const close = (): void => {
    isClosed = true;
    streams.delete(close);
  };
  streams.add(close);
  let cursor = of.from;
  let quiet = 0;
  /** The next text; null: the stream ends before it is over. */
  async function nextText(): Promise<string | null> {
    const found = page ?? (await pageAfter());
    page = null;
    if (isClosed || found === null) return null;
    cursor = found.live?.cursor ?? String(found.next);
    const { text, isOver } = of.next(found);
    if (isOver) close();
    return text;
  }
  /** Null if the run is gone or the store does not answer. The reader reconnects and is told then. */
  async function pageAfter(): Promise<EventPage | null> {
    await streams.pageTurn();
    const answer = await pageBehind(cursor, WAIT_SECONDS);
    if (answer.status === 200) return (await answer.json()) as EventPage;
    close();
    return null;
  }
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(of.opening)),
    pull: async (controller) => {
      try {
        for (let text: string | null = ""; text === "";) {
          text = await nextText();
          quiet = text === "" ? quiet + 1 : 0;
          if (text === "" && !isClosed && quiet % HEARTBEAT_PAGES === 0) text = ": the run has no news\n\n";
          const sent = text ?? of.broken;
          if (sent !== "") controller.enqueue(encoder.encode(sent));
          if (isClosed || text === null) return controller.close();
        }
      } catch (error) {
        close();
        controller.error(error);
      }
    },
    cancel: close,
  });
  return new Response(body, { headers: { ...HEADERS, ...of.headers } });
}

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
} as const;

/** All of a run with what the model says: what a chat shows. */
export const WITH_DELTAS = { from: "0", queryOf: (cursor: string) => `deltas=true&cursor=${cursor}` } as const;
