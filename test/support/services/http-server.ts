/** A local HTTP server for tests of effects. It ends with its test. */
import { type IncomingHttpHeaders, createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface ServedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface ServedAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The answer is lost: the connection breaks, after the server has done its work. */
  readonly isLost?: boolean;
}

export const json = (status: number, body: unknown): ServedAnswer => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

export const lost = (answer: ServedAnswer, isLost: boolean): ServedAnswer => ({ ...answer, isLost });

/** Starts the server. Returns its address, such as `http://127.0.0.1:40123`. */
export async function serve(handle: (request: ServedRequest) => ServedAnswer): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const answer = handle({ method, url: new URL(url, "http://server"), headers, body: Buffer.concat(chunks) });
      if (answer.isLost === true) request.socket.destroy();
      else response.writeHead(answer.status, answer.headers).end(answer.body);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
