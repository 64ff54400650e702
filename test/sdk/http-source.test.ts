/** Conditional requests to a real HTTP server: by ETag, by date, and what the bounds and faults of an answer do. */
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { memoryOf } from "../../src/features/memory/stored.ts";
import { type HttpSourceOptions, httpSource } from "../../src/index.ts";
import { createHarness } from "../support/harness/harness.ts";

const DATE = "Tue, 15 Nov 1994 12:45:26 GMT";

async function serverOf(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen: IncomingMessage["headers"][] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/page?key=k`;
  const memory = memoryOf(createHarness().world, { tenant: "local", scope: "notes" });
  const paths: string[] = [];
  server.on("request", ({ url = "" }) => paths.push(url));
  return { url, seen, paths, fetch: (options: HttpSourceOptions = {}) => memory.fetch(url, httpSource(url, options)) };
}

test.each([
  ["its ETag", "etag", '"v1"', "if-none-match"],
  ["its date where it has no ETag", "last-modified", DATE, "if-modified-since"],
])("asks by %s, and gives the kept content where nothing changed", async (_, names, version, asks) => {
  const { seen, fetch } = await serverOf((request, response) => {
    const isSame = request.headers[asks] === version;
    response.writeHead(isSame ? 304 : 200, { [names]: version }).end(isSame ? undefined : "the content");
  });
  expect(await fetch({ headers: { accept: "text/plain" } })).toMatchObject({ content: "the content", from: "source" });
  expect(await fetch()).toMatchObject({ content: "the content", from: "confirmed", etag: version });
  expect(seen.map((headers) => headers[asks])).toEqual([undefined, version]);
  const { accept, "if-none-match": tag, "if-modified-since": since } = seen[0] ?? {};
  expect({ accept, tag, since }).toEqual({ accept: "text/plain", tag: undefined, since: undefined });
});

test("fetches a source whole each time if it names no version", async () => {
  const { seen, fetch } = await serverOf((_, response) => response.end("the content"));
  expect([(await fetch()).from, (await fetch()).from]).toEqual(["source", "source"]);
  expect(Object.keys(seen[1] ?? {}).filter((name) => name.startsWith("if-"))).toEqual([]);
});

test("reads the charset that the source names", async () => {
  const types = ["text/plain; charset=iso-8859-1", "text/plain; charset=nonsense", "text/plain"];
  const bodies = [Buffer.from([0xe9]), Buffer.from("é"), Buffer.from("é")];
  const { fetch } = await serverOf((_, response) => {
    response.writeHead(200, { "content-type": types.shift() }).end(bodies.shift());
  });
  expect([(await fetch()).content, (await fetch()).content, (await fetch()).content]).toEqual(["é", "é", "é"]);
});

test("refuses content beyond its bound without reading the rest", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { fetch } = await serverOf((_, response) => {
    response.on("close", resolve);
    const more = (): void => {
      while (!response.destroyed && response.write("x".repeat(1_000)));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  });
  await expect(fetch({ maxBytes: 5_000 })).rejects.toThrow(/\/page has more than 5000 bytes$/);
  // The endless answer ends, since its connection is closed.
  await promise;
});

test("takes content of exactly its bound, and refuses one byte more", async () => {
  const { fetch } = await serverOf((_, response) => response.end("x".repeat(5_000)));
  expect((await fetch({ maxBytes: 5_000 })).content).toHaveLength(5_000);
  await expect(fetch({ maxBytes: 4_999 })).rejects.toThrow(/\/page has more than 4999 bytes$/);
});

test.each([302, 304, 404, 500])("refuses the status %s, and names the source without its query", async (status) => {
  const { fetch } = await serverOf((_, response) => response.writeHead(status).end());
  await expect(fetch()).rejects.toThrow(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/page answered ${status}$`));
});

/** The times for which a timeout is asked, and what lets all of them be over. */
function timeouts(): { readonly asked: readonly number[]; readonly pass: () => void } {
  const over = new AbortController();
  const asked: number[] = [];
  const spied = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    asked.push(ms);
    return over.signal;
  });
  onTestFinished(() => spied.mockRestore());
  return { asked, pass: () => over.abort(new DOMException("the time is over", "TimeoutError")) };
}

test("gives up on a source that does not answer", async () => {
  const { asked, pass } = timeouts();
  const { fetch } = await serverOf(pass);
  await expect(fetch({ timeoutMs: 100 })).rejects.toThrow(/\/page did not answer within 100 ms$/);
  expect(asked).toEqual([100]);
});

test("gives up on a source that begins to answer and stops", async () => {
  const { pass } = timeouts();
  const { fetch: read } = await serverOf((_, response) => void response.write("the beginning"));
  const real = globalThis.fetch;
  vi.stubGlobal("fetch", async (...asked: Parameters<typeof real>) => {
    const response = await real(...asked);
    setImmediate(pass);
    return response;
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  await expect(read({ timeoutMs: 100 })).rejects.toThrow(/\/page did not answer within 100 ms$/);
});

test("ends with the signal of its call", async () => {
  const stopped = new AbortController();
  const { fetch } = await serverOf(() => stopped.abort(new Error("the call was stopped")));
  await expect(fetch({ signal: stopped.signal })).rejects.toThrow("the call was stopped");
});

test("says that a source cannot be reached", async () => {
  const memory = memoryOf(createHarness().world, { tenant: "local", scope: "notes" });
  const url = "http://127.0.0.1:1/page";
  await expect(memory.fetch(url, httpSource(url))).rejects.toThrow(`${url} cannot be reached`);
});

/** A page that redirects to these addresses in turn, and then has content. */
const redirecting = (...targets: string[]) =>
  serverOf((_, response) => {
    const location = targets.shift();
    if (location === undefined) response.end("the content");
    else response.writeHead(302, { location }).end();
  });

test("follows redirects within the source with its headers and the kept version", async () => {
  const { seen, paths, fetch } = await serverOf(({ url, headers }, response) => {
    const location = Buffer.from("/new/é").toString("latin1");
    if (url !== "/new/%C3%A9") response.writeHead(301, { location }).end();
    else response.writeHead(headers["if-none-match"] === '"v1"' ? 304 : 200, { etag: '"v1"' }).end();
  });
  expect((await fetch({ headers: { "x-api-key": "k" } })).from).toBe("source");
  expect((await fetch({ headers: { "x-api-key": "k" } })).from).toBe("confirmed");
  expect(paths).toEqual(["/page?key=k", "/new/%C3%A9", "/page?key=k", "/new/%C3%A9"]);
  expect(seen.map((headers) => headers["x-api-key"])).toEqual(["k", "k", "k", "k"]);
});

test("sends its headers to no other origin, nor back from there", async () => {
  const back: string[] = [];
  const other = await serverOf((_, response) => response.writeHead(307, { location: back[0] }).end());
  const first = await redirecting(other.url);
  back.push(first.url);
  expect((await first.fetch({ headers: { "x-api-key": "k", authorization: "Bearer k" } })).content).toBe("the content");
  const sent = [first.seen[0], other.seen[0], first.seen[1]].map((headers) => [
    headers?.["x-api-key"],
    headers?.authorization,
  ]);
  expect(sent).toEqual([
    ["k", "Bearer k"],
    [undefined, undefined],
    [undefined, undefined],
  ]);
});

test("asks for the first address and for each redirect, and requests nothing that is refused", async () => {
  const inner = await redirecting();
  const outer = await redirecting("/next", inner.url);
  const asked: string[] = [];
  const allow = ({ href, host }: URL): boolean => {
    asked.push(href);
    return host === new URL(outer.url).host;
  };
  const [from, to] = [outer.url, inner.url].map((url) => url.replace(/page.*/, ""));
  await expect(outer.fetch({ allow })).rejects.toThrow(`${from}next redirects to ${to}page, which is refused by allow`);
  expect(asked).toEqual([outer.url, `${from}next`, inner.url]);
  expect(inner.seen).toEqual([]);
  expect(() => httpSource(inner.url, { allow })).toThrow(`${to}page is refused by allow`);
  const throwing = () => {
    throw new Error("not on the list");
  };
  expect(() => httpSource(inner.url, { allow: throwing })).toThrow(`${to}page is refused by allow: not on the list`);
});

test.each([
  ["file:///etc/passwd", "redirects to file:///etc/passwd, which is not of HTTP"],
  ["http://[", "redirects to no valid address"],
])("refuses a redirect to %s", async (target, why) => {
  const { fetch } = await redirecting(target);
  await expect(fetch({ allow: () => true })).rejects.toThrow(why);
});

test("follows five redirects, and refuses a sixth", async () => {
  const { fetch } = await redirecting(...Array.from({ length: 5 }, () => "/page"));
  expect((await fetch()).content).toBe("the content");
  const endless = await redirecting(...Array.from({ length: 9 }, () => "/page"));
  await expect(endless.fetch()).rejects.toThrow(/\/page redirects more than 5 times$/);
  expect(endless.seen).toHaveLength(6);
});

test.each(["file:///etc/passwd", "data:text/plain,x", "no address"])("refuses the address %s", (url) => {
  expect(() => httpSource(url)).toThrow(TypeError);
});
