/**
 * The streams that a server holds open. Their number is bounded: in all, for each run and for each token, so that the
 * readers of one run or the owner of one token leave room for others. A reader that takes nothing is closed after a while.
 */
import { type ReaderOptions, READERS } from "../../sdk/readers.ts";
import * as problems from "../problem.ts";
import type { Caller } from "../access/caller.ts";
import type { Clock } from "../../ports/world.ts";
import { Turns } from "./turns.ts";

/** Who reads what. */
export interface Reader {
  /** Null: the stream is of no single run, such as a call by MCP. */
  readonly run: string | null;
  readonly caller: Pick<Caller, "tenant" | "actor" | "token">;
}

/** The place of one reader. It is taken before the first page is read. */
export interface Seat {
  /** The stream is open. `close` ends it when the server stops. */
  readonly open: (close: () => void) => void;
  /** Leaves the place to another reader. Repeated calls have no effect. */
  readonly leave: () => void;
  /** Closes the stream, and says why, unless the returned function is called in time. */
  readonly closeUnread: (close: () => void) => () => void;
}

export interface StreamsOptions {
  readonly readers?: ReaderOptions;
  readonly turns?: Turns;
  /** The timer of the machine by default. */
  readonly after?: Clock["after"];
  /** Hears of each reader that was closed since it took nothing. */
  readonly onUnread?: (closed: UnreadStream) => void;
}

export interface UnreadStream {
  readonly run: string | null;
  readonly seconds: number;
}

const afterOnMachine: Clock["after"] = (delayMs, call) => {
  const timer = setTimeout(call, delayMs);
  return () => clearTimeout(timer);
};

export class OpenStreams {
  readonly readers: Required<ReaderOptions>;
  readonly turns: Turns;
  readonly #after: Clock["after"];
  readonly #onUnread: (closed: UnreadStream) => void;
  /** What closes the stream of each place. */
  readonly #seats = new Map<Seat, () => void>();
  readonly #ofRun = new Map<string, number>();
  readonly #ofOwner = new Map<string, number>();

  constructor({ readers = {}, turns = new Turns(), after = afterOnMachine, onUnread }: StreamsOptions = {}) {
    this.readers = { ...READERS, ...readers };
    this.turns = turns;
    this.#after = after;
    this.#onUnread = onUnread ?? (() => undefined);
  }

  /** The readers that have a place. */
  get size(): number {
    return this.#seats.size;
  }

  /**
   * Takes a place at once, so that requests that arrive together do not exceed the bounds. Throws an `ApiProblem` if there
   * is none.
   */
  admit({ run: named, caller: { tenant, actor, token } }: Reader): Seat {
    // It is not known yet whether the caller may read the run. Those of another tenant take no place of its readers.
    const run = named === null ? null : `${tenant} ${named}`;
    const owner = token ?? `${tenant} ${actor}`;
    const { max, perRunMax, perTokenMax, unreadSeconds } = this.readers;
    if (this.#seats.size >= max) throw tooManyStreams(max);
    if (run !== null && (this.#ofRun.get(run) ?? 0) >= perRunMax) throw tooManyReaders("this run", perRunMax);
    if ((this.#ofOwner.get(owner) ?? 0) >= perTokenMax) throw tooManyReaders("this token", perTokenMax);
    const seat: Seat = {
      open: (close) => void this.#seats.set(seat, close),
      leave: () => {
        if (!this.#seats.delete(seat)) return;
        if (run !== null) add(this.#ofRun, run, -1);
        add(this.#ofOwner, owner, -1);
      },
      closeUnread: (close) =>
        // The server that owns the socket closes it first; this is for a server that does not.
        this.#after(2_000 * unreadSeconds, () => {
          this.#onUnread({ run: named, seconds: 2 * unreadSeconds });
          close();
        }),
    };
    this.#seats.set(seat, () => undefined);
    if (run !== null) add(this.#ofRun, run, 1);
    add(this.#ofOwner, owner, 1);
    return seat;
  }

  /** Admits the reader to what `answer` opens. The place is free again if that opens nothing. */
  async seated(reader: Reader, answer: (seat: Seat) => Promise<Response>): Promise<Response> {
    const seat = this.admit(reader);
    let isOpen = false;
    const open: Seat["open"] = (close) => {
      isOpen = true;
      seat.open(close);
    };
    try {
      return await answer({ ...seat, open });
    } finally {
      if (!isOpen) seat.leave();
    }
  }

  closeAll(): void {
    const open = [...this.#seats.values()];
    for (const close of open) close();
  }
}

function add(counts: Map<string, number>, name: string, change: number): void {
  const count = (counts.get(name) ?? 0) + change;
  if (count > 0) counts.set(name, count);
  else counts.delete(name);
}

const RETRY = { headers: { "retry-after": "5" } } as const;

const tooManyStreams = (max: number): problems.ApiProblem =>
  new problems.ApiProblem({
    ...RETRY,
    status: 503,
    code: "TooManyStreams",
    detail: `${max} readers follow events already: close one, or ask for events with \`wait\`; the operator may raise \`readers.max\``,
  });

const tooManyReaders = (what: "this run" | "this token", max: number): problems.ApiProblem =>
  new problems.ApiProblem({
    ...RETRY,
    status: 429,
    code: "TooManyReaders",
    detail: `${max} readers of ${what} follow events already: close one, or ask for events with \`wait\`; the operator may raise \`readers.${what === "this run" ? "perRunMax" : "perTokenMax"}\``,
  });

/** Counts the response as open until it is complete, its reader is gone, or the server closes. */
export const heldOpen = (
  streams: OpenStreams,
  { reader, request }: { readonly reader: Reader; readonly request: Request },
  answer: (request: Request) => Promise<Response>,
): Promise<Response> =>
  streams.seated(reader, async (seat) => {
    const stop = new AbortController();
    const close = (): void => {
      seat.leave();
      stop.abort();
    };
    seat.open(close);
    // An answer to a client that has gone may never be read.
    request.signal.addEventListener("abort", close, { once: true });
    try {
      const response = await answer(new Request(request, { signal: AbortSignal.any([request.signal, stop.signal]) }));
      // The body of a HEAD request is never read.
      if (response.body === null || request.method === "HEAD") {
        seat.leave();
        return new Response(null, response);
      }
      const ended = { flush: seat.leave, cancel: seat.leave };
      const body = response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(ended));
      return new Response(body, response);
    } catch (error) {
      seat.leave();
      throw error;
    }
  });
