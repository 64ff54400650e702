/**
 * A server that speaks the wire format of a provider. Requests for the provider's own address come to it, so a model
 * that is given as text takes its whole way.
 */
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { vi } from "vitest";
import type { Frame, Said, SentBody, Wire } from "./wire.ts";

/** What the server does with one request. */
export type Answer =
  | { readonly kind: "says"; readonly said: Said }
  /** A response of success with these frames, after which it ends, or its connection closes. */
  | { readonly kind: "frames"; readonly frames: readonly Frame[]; readonly end: "clean" | "cut" }
  | { readonly kind: "status"; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly kind: "body"; readonly body: string; readonly status?: number }
  | { readonly kind: "hang" }
  /** Says each frame when the test asks for it. */
  | { readonly kind: "drip"; readonly said: Said };

interface Sent {
  readonly path: string;
  readonly body: SentBody;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Fires when the client has closed the connection before the response was complete. */
  readonly closed: Promise<void>;
}

export interface ProviderServer extends AsyncDisposable {
  readonly url: string;
  readonly sent: readonly Sent[];
  /** The next request that has arrived. */
  nextSent(): Promise<Sent>;
  /** Writes the next frame of a reply that drips; false: that was the last one. */
  drip(): boolean;
}

export async function startProvider(wire: Wire, answer: Answer): Promise<ProviderServer> {
  const sent: Sent[] = [];
  let waiting: ((request: Sent) => void)[] = [];
  const dripping: { left: Frame[]; to: ServerResponse | null } = { left: [], to: null };
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as SentBody;
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    const one: Sent = { path: request.url ?? "", body, headers: request.headers, closed };
    sent.push(one);
    give(wire, answer, { one, response, dripping });
    const told = waiting;
    waiting = [];
    for (const tell of told) tell(one);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const real = globalThis.fetch;
  vi.stubGlobal("fetch", (input: string | URL, init?: RequestInit) => {
    const { pathname, search } = new URL(input);
    return real(`http://127.0.0.1:${port}${pathname}${search}`, init);
  });
  return {
    ...{ sent, url: `http://127.0.0.1:${port}` },
    nextSent: () => new Promise((resolve) => waiting.push(resolve)),
    drip: () => {
      const next = dripping.left.shift();
      if (next !== undefined) dripping.to?.write(next);
      if (dripping.left.length > 0) return true;
      dripping.to?.end();
      return false;
    },
    async [Symbol.asyncDispose]() {
      vi.unstubAllGlobals();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function give(
  wire: Wire,
  answer: Answer,
  to: {
    readonly one: Sent;
    readonly response: ServerResponse;
    readonly dripping: { left: Frame[]; to: ServerResponse | null };
  },
): void {
  const { one, response } = to;
  const streams = wire.isStream(one.path, one.body);
  const begin = (): ServerResponse => response.writeHead(200, { "content-type": wire.streamType });
  switch (answer.kind) {
    case "says":
      if (!streams) response.setHeader("content-type", "application/json").end(wire.whole(answer.said));
      else begin().end(Buffer.concat(wire.stream(answer.said, one.body).map((frame) => Buffer.from(frame))));
      return;
    case "frames":
      begin().write(Buffer.concat(answer.frames.map((frame) => Buffer.from(frame))), () =>
        answer.end === "clean" ? response.end() : response.destroy(),
      );
      return;
    case "status": {
      const { status, headers = {} } = answer;
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(wire.refusal(status, "Slow down"));
      return;
    }
    case "body":
      response.writeHead(answer.status ?? 200, { "content-type": "text/html" }).end(answer.body);
      return;
    case "hang":
      return;
    case "drip":
      begin().flushHeaders();
      to.dripping.left = [...wire.stream(answer.said)];
      to.dripping.to = response;
  }
}
