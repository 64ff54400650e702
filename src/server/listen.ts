/** Listens with Node's HTTP server. */
import { serve } from "@hono/node-server";
import type { Server } from "node:http";
import type { Clock } from "../ports/world.ts";
import type { LocalServer } from "./app.ts";

export interface Listening {
  readonly url: string;
  /** Answers what is under way, ends streams, and closes every connection after `graceMs` at the latest. */
  readonly close: (graceMs: number) => Promise<void>;
}

/** Headers must arrive within this time, and a whole request within four times as long. */
const HEADERS_MS = 15_000;

/** Rejects with the error of Node if the port is taken (`EADDRINUSE`). With port 0 the system chooses one. */
export function listen(
  { fetch, streams, watch }: LocalServer,
  { host, port, clock }: { readonly host: string; readonly port: number; readonly clock: Clock },
): Promise<Listening> {
  return new Promise((resolve, reject) => {
    const serverOptions = { headersTimeout: HEADERS_MS, requestTimeout: 4 * HEADERS_MS };
    const server = serve({ fetch, hostname: host, port, serverOptions }, ({ port: actual }) => {
      server.off("error", reject);
      const name = host.includes(":") ? `[${host}]` : host;
      resolve({ url: `http://${name}:${actual}`, close: (graceMs) => closed(server, { streams, clock, graceMs }) });
    }) as Server;
    server.on("request", (_, response) => watch(response));
    server.once("error", reject);
  });
}

function closed(
  server: Server,
  { streams, clock, graceMs }: Pick<LocalServer, "streams"> & { readonly clock: Clock; readonly graceMs: number },
): Promise<void> {
  return new Promise((resolve) => {
    const stay = clock.after(graceMs, () => server.closeAllConnections());
    server.close(() => {
      stay();
      resolve();
    });
    streams.closeAll();
    server.closeIdleConnections();
  });
}
