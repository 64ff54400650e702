/** Clients that take nothing of their answer: their connection is closed, and others stay. */
import { type Server, type ServerResponse, createServer, get } from "node:http";
import { type AddressInfo } from "node:net";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { followRun } from "../../src/api/streams/follow-run.ts";
import { OpenStreams, type UnreadStream, heldOpen } from "../../src/api/streams/open-streams.ts";
import { closeIfUnread } from "../../src/server/unread.ts";

const SECONDS = 10;

/** A server that writes more than the buffers of a connection take. */
async function serverOf(bytes: number) {
  const clock = virtualClock(0);
  const closed: UnreadStream[] = [];
  const written = Promise.withResolvers<void>();
  const server: Server = createServer((_, response) => {
    closeIfUnread(response, { after: clock.after, seconds: SECONDS, onUnread: (each) => closed.push(each) });
    response.write(Buffer.alloc(bytes), () => written.resolve());
    setImmediate(() => written.resolve());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/runs/local-abc/events`;
  return { clock, closed, url, written: written.promise };
}

test("a connection whose client takes nothing is closed, and it is said which run it read", async () => {
  const { clock, closed, url, written } = await serverOf(64 * 1024 * 1024);
  const request = get(url, { agent: false });
  const ended = once(request, "close");
  request.on("error", () => undefined);
  await once(request, "response");
  await written;
  while (closed.length === 0) {
    clock.moveTo(clock.now() + 1_000 * SECONDS);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(closed).toEqual([{ run: "local-abc", seconds: SECONDS }]);
  request.destroy();
  await ended;
});

test("a connection whose client waits for news is not closed", async () => {
  const { clock, closed, url, written } = await serverOf(10);
  const request = get(url, { agent: false });
  request.on("error", () => undefined);
  const [response] = (await once(request, "response")) as [NodeJS.ReadableStream];
  response.resume();
  await written;
  for (let look = 0; look < 20; look += 1) {
    clock.moveTo(clock.now() + 1_000 * SECONDS);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(closed).toEqual([]);
  request.destroy();
});

test("a connection whose client took something within the time is not closed, however shortly before a look that was", () => {
  const clock = virtualClock(0);
  const closed: UnreadStream[] = [];
  let isDestroyed = false;
  const socket = { bytesWritten: 9, writableLength: 5, destroy: () => (isDestroyed = true) };
  const response = { socket, req: { url: "/" }, once: () => undefined } as unknown as ServerResponse;
  closeIfUnread(response, { after: clock.after, seconds: SECONDS, onUnread: (each) => closed.push(each) });
  const passes = (seconds: number): void => {
    for (let step = 0; step < seconds; step += 1) clock.moveTo(clock.now() + 1_000);
  };
  passes(SECONDS / 2 - 1);
  socket.bytesWritten += 1;
  passes(SECONDS - 1);
  expect({ isDestroyed, closed }).toEqual({ isDestroyed: false, closed: [] });
  passes(SECONDS);
  expect({ isDestroyed, closed }).toEqual({ isDestroyed: true, closed: [{ run: null, seconds: SECONDS }] });
});

/** A stream that goes on, with `reads` pieces taken. */
async function streamOf(reads: number) {
  const clock = virtualClock(0);
  const closed: UnreadStream[] = [];
  const streams = new OpenStreams({
    ...{ after: clock.after, onUnread: (each) => closed.push(each) },
    readers: { unreadSeconds: SECONDS },
  });
  const page = { kind: "shown", entries: [], next: 1, more: true, status: "running", inProgress: true } as const;
  const response = await streams.seated(READER, (seat) =>
    followRun({
      ...{ pageOf: async () => page, streams, seat, from: "0", headers: {}, opening: "begin ", broken: "" },
      queryOf: (cursor) => `after=${cursor}`,
      next: () => ({ pieces: ["more "], isOver: false }),
    }),
  );
  const body = response.body?.getReader();
  for (let read = 0; read < reads; read += 1) await body?.read();
  return { clock, closed, streams };
}

const READER = { run: "local-abc", caller: { tenant: "local", actor: "ann" } };

test.each([0, 1, 2])(
  "a stream that nobody reads after %i pieces is closed where the server does not own the connection, and leaves its place",
  async (reads) => {
    const { clock, closed, streams } = await streamOf(reads);
    while (clock.next() === null) await new Promise((resolve) => setImmediate(resolve));
    expect(streams.size).toBe(1);
    clock.moveTo(2_000 * SECONDS);
    expect(closed).toEqual([{ run: "local-abc", seconds: 2 * SECONDS }]);
    expect(streams.size).toBe(0);
  },
);

test("a call whose client leaves before it reads the answer leaves its place", async () => {
  const streams = new OpenStreams();
  const left = new AbortController();
  const request = new Request("http://127.0.0.1/mcp", { signal: left.signal });
  await heldOpen(streams, { reader: READER, request }, async () => new Response("an answer"));
  expect(streams.size).toBe(1);
  left.abort();
  expect(streams.size).toBe(0);
});
