/** Requests to endpoints that mean no good: they redirect, never end, never answer, or are not there. */
import { type RequestListener, type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { postWebhook } from "../../../src/adapters/webhooks/post.ts";
import { LIMITS } from "../../support/gate/limits.ts";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function listening(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const post = (url: string, timeoutMs: number = LIMITS.eventMs) =>
  postWebhook({ url, headers: { "webhook-id": "msg_1" }, body: "{}", timeoutMs });

test("sends headers and body, and returns the status", async () => {
  const seen: unknown[] = [];
  const url = await listening((request, response) => {
    seen.push(request.method, request.headers["webhook-id"]);
    request.on("data", (chunk: Buffer) => seen.push(chunk.toString()));
    request.on("end", () => response.writeHead(202).end());
  });
  expect(await post(url)).toEqual({ kind: "answered", status: 202 });
  expect(seen).toEqual(["POST", "msg_1", "{}"]);
});

test("follows no redirect", async () => {
  let reached = 0;
  const inner = await listening((_, response) => {
    reached += 1;
    response.end();
  });
  const url = await listening((_, response) => response.writeHead(307, { location: inner }).end());
  expect(await post(url)).toEqual({ kind: "answered", status: 307 });
  expect(reached).toBe(0);
});

test("reads no answer that never ends", async () => {
  let sent = 0;
  const url = await listening((_, response) => {
    response.writeHead(200);
    const more = (): void => {
      while (!response.destroyed && response.write("x".repeat(65_536))) sent += 1;
    };
    response.on("drain", more);
    more();
  });
  expect(await post(url)).toEqual({ kind: "answered", status: 200 });
  expect(sent).toBeLessThan(1_000);
});

test("gives up on an endpoint that never answers, and on one that is not there", async () => {
  const silent = await listening(() => undefined);
  expect(await post(silent, 200)).toEqual({ kind: "unreachable", why: "no answer came within 0.2 s" });
  expect(await post("http://127.0.0.1:1/")).toMatchObject({ kind: "unreachable" });
});
