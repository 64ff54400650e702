/** The streams that a server holds open, and their bound. */
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
