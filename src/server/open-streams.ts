/** The streams that a server holds open, their bound, and whose turn it is to read. */
const STREAMS_MAX = 256;

/** The streams that are open. Each reads the store once a second, so their number is bounded. */
export class OpenStreams {
  readonly #open = new Set<() => void>();
  readonly #nextTurn: () => Promise<void>;
  #lastPage: Promise<void> = Promise.resolve();
  readonly max = STREAMS_MAX;

  /** `nextTurn` resolves in the next turn of the event loop. */
  constructor(nextTurn: () => Promise<void> = () => new Promise((resolve) => void setImmediate(resolve))) {
    this.#nextTurn = nextTurn;
  }

  /**
   * Resolves when the caller may read its next page: one page in a turn of the event loop, over all streams, first come,
   * first served. A page of a synchronous store is read without a pause. Without turns, all pages of all readers of a long
   * run would be read in one turn, and the server would answer no other request meanwhile (`readers of a long run leave turns
   * of the event loop to all others` in test/server/page-turns.test.ts).
   */
  pageTurn(): Promise<void> {
    this.#lastPage = this.#lastPage.then(this.#nextTurn);
    return this.#lastPage;
  }

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
