/** Listens with Node's HTTP server, and loads what answers at the first request. */
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import * as problems from "../api/problem.ts";
import type { World } from "../ports/world.ts";
import type { LocalServer } from "./app.ts";

export interface Listening {
  readonly url: string;
  /** Answers what is under way, ends streams, and closes every connection after `graceMs` at the latest. */
  readonly close: (graceMs: number) => Promise<void>;
}

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly world: World;
  /** Loads what answers; a server that is asked nothing stays small without it. Rejects if a module cannot be loaded. */
  readonly load: () => Promise<LocalServer>;
}

interface Answering {
  readonly local: LocalServer;
  readonly answer: (request: IncomingMessage, response: ServerResponse) => unknown;
}

/** Headers must arrive within this time, and a whole request within four times as long. */
const HEADERS_MS = 15_000;

/** Rejects with the error of Node if the port is taken (`EADDRINUSE`). With port 0 the system chooses one. */
export function listen({ host, port, world, load }: ListenOptions): Promise<Listening> {
  let loaded: Promise<Answering> | null = null;
  const loadAnswering = async (): Promise<Answering> => {
    const [{ getRequestListener }, local] = await Promise.all([import("@hono/node-server"), load()]);
    return { local, answer: getRequestListener(local.fetch, { hostname: host }) };
  };
  const answerTo = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    loaded ??= loadAnswering();
    let answering: Answering;
    try {
      answering = await loaded;
    } catch (error) {
      // The next request tries again.
      loaded = null;
      return refuse(response, problems.notLoaded(world, { error, path: request.url ?? "" }));
    }
    answering.local.watch(response);
    answering.answer(request, response);
  };
  const limits = { headersTimeout: HEADERS_MS, requestTimeout: 4 * HEADERS_MS };
  const server = createServer(limits, (request, response) => void answerTo(request, response));
  const close = (graceMs: number): Promise<void> =>
    new Promise((resolve) => {
      const stay = world.clock.after(graceMs, () => server.closeAllConnections());
      server.close(() => {
        stay();
        resolve();
      });
      loaded?.then(
        ({ local }) => local.streams.closeAll(),
        () => undefined,
      );
      server.closeIdleConnections();
    });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      const name = host.includes(":") ? `[${host}]` : host;
      const { port: actual } = server.address() as { readonly port: number };
      resolve({ url: `http://${name}:${actual}`, close });
    });
  });
}

/** Answers without what could not be loaded. */
async function refuse(response: ServerResponse, problem: Response): Promise<void> {
  response.writeHead(problem.status, Object.fromEntries(problem.headers));
  response.end(await problem.text());
}
