/**
 * Follows a run: server-sent events, made of pages of the API's events and of what the model says. It reads the next page
 * when the client has taken what came before, so a slow client costs no memory. A client that closes the connection ends
 * the reading within `WAIT_SECONDS`.
 */
import { EVENTS_PER_TURN } from "../../ports/reading.ts";
import { askWithin } from "../handed-over.ts";
import type { EventPage } from "../../operations/event-page.ts";
import type { OpenStreams, Seat } from "./open-streams.ts";

/** How long one page waits for events, and so how long a closed stream may still read. */
const WAIT_SECONDS = 1;
/** A commit with more bytes is sent all the same. */
const PAGE_BYTES = 256 * 1024;
/** Quiet pages until a comment keeps the connection open. */
const HEARTBEAT_PAGES = 15;

/** Gets a page of events from the API; or the answer of the API if there is none. */
export type PageOf = (query: string) => Promise<EventPage | Response>;

/** Asks the API of this process for a page, and takes the page as it is. */
export async function pageWithin(
  request: Request,
  ask: (request: Request) => Response | Promise<Response>,
): Promise<EventPage | Response> {
  const { response, outcome } = await askWithin(request, ask);
  return response.status === 200 && outcome !== null ? (outcome as EventPage) : response;
}

export interface PagesToFollow {
  readonly pageOf: PageOf;
  readonly streams: Pick<OpenStreams, "turns">;
  /** The place of the reader. */
  readonly seat: Seat;
  /** The cursor of the first page. */
  readonly from: string;
  /** What a page is asked for behind a cursor. */
  readonly queryOf: (cursor: string) => string;
  readonly headers: Readonly<Record<string, string>>;
  /** The first text of the stream. */
  readonly opening: string;
  /** The last text of a stream that ends before it is over: the store does not answer, or the server closes. */
  readonly broken: string;
  /** What the client gets of one page, in pieces that are made one by one as the client takes them. */
  readonly next: (page: EventPage) => ReaderStep;
}

export interface ReaderStep {
  readonly pieces: Iterable<string>;
  /** The stream ends behind them. */
  readonly isOver: boolean;
}

/** The texts of these items in pieces, none of which takes much of a turn or of the connection's buffer. */
export function* piecesOf<Item>(items: readonly Item[], textOf: (item: Item) => string): Generator<string, undefined> {
  let piece = "";
  for (const [index, item] of items.entries()) {
    piece += textOf(item);
    if (piece.length < PAGE_BYTES && index % EVENTS_PER_TURN !== EVENTS_PER_TURN - 1) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
}

/** Answers with the stream, or with the API's response if there is no such run. */
export async function followRun(pages: PagesToFollow): Promise<Response> {
  const { pageOf, streams, seat } = pages;
  const pageBehind = async (cursor: string, wait: number): Promise<EventPage | Response> => {
    await streams.turns.next();
    return pageOf(`?${pages.queryOf(cursor)}&wait=${wait}&bytesMax=${PAGE_BYTES}`);
  };
  const first = await pageBehind(pages.from, 0);
  if (first instanceof Response) return first;
  let page: EventPage | null = first;
  /** What is left of the last page. */
  let told: { readonly pieces: Iterator<string>; readonly isOver: boolean } | null = null;
  /** A piece that is made already. */
  let ahead: IteratorResult<string, unknown> | null = null;
  let isClosed = false;
  const close = (): void => {
    isClosed = true;
    isTaken();
    seat.leave();
  };
  /** The client has taken the last text. */
  let isTaken = (): void => undefined;
  seat.open(close);
  let cursor = pages.from;
  let quiet = 0;
  /** The next text; empty: there is no news; null: the stream ends before it is over. */
  async function nextText(): Promise<string | null> {
    if (isClosed) return null;
    if (told === null) {
      const found = page ?? (await pageAfter());
      page = null;
      if (isClosed || found === null) return null;
      cursor = found.live?.cursor ?? String(found.next);
      const { pieces, isOver } = pages.next(found);
      told = { pieces: pieces[Symbol.iterator](), isOver };
    } else await streams.turns.next();
    const piece = ahead ?? told.pieces.next();
    ahead = null;
    if (piece.done === true) {
      if (told.isOver) close();
      told = null;
      return "";
    }
    // The place of a reader is free with its last text, and not when it asks for more.
    if (told.isOver) ahead = told.pieces.next();
    if (ahead?.done === true) close();
    return piece.value;
  }
  /** Null if the run is gone or the store does not answer. The reader reconnects and is told then. */
  async function pageAfter(): Promise<EventPage | null> {
    const answer = await pageBehind(cursor, WAIT_SECONDS);
    if (!(answer instanceof Response)) return answer;
    close();
    return null;
  }
  const encoder = new TextEncoder();
  const waitUntilTaken = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    isTaken = seat.closeUnread(() => {
      close();
      controller.error(new Error("the client has taken nothing for too long"));
    });
  };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(encoder.encode(pages.opening));
      // A request that ends before its answer may never read it.
      waitUntilTaken(controller);
    },
    pull: async (controller) => {
      isTaken();
      try {
        for (let text: string | null = ""; text === "";) {
          text = await nextText();
          // What ends a page is no news, and neither is a page without any.
          if (text !== "") quiet = -1;
          else if (told === null) quiet += 1;
          if (text === "" && !isClosed && quiet >= HEARTBEAT_PAGES) [text, quiet] = [": the run has no news\n\n", 0];
          const sent = text ?? pages.broken;
          if (sent !== "") controller.enqueue(encoder.encode(sent));
          if (isClosed || text === null) return controller.close();
        }
        if (!isClosed) waitUntilTaken(controller);
      } catch (error) {
        close();
        controller.error(error);
      }
    },
    cancel: close,
  });
  return new Response(body, { headers: { ...HEADERS, ...pages.headers } });
}

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
} as const;

/** All of a run with what the model says: what a chat shows. */
export const WITH_DELTAS = { from: "0", queryOf: (cursor: string) => `deltas=true&cursor=${cursor}` } as const;
