/** A beat asks the function of the sweeper to deliver at once, and a request that fails ends no beat. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { deliveryRequests } from "../../../src/adapters/aws/delivery-requests.ts";

beforeEach(() => {
  vi.stubEnv("AWS_REGION", "eu-west-1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
});
afterEach(() => void vi.unstubAllEnvs());

/** Lambda as far as it takes asynchronous invocations. */
async function lambda(status: number) {
  const asked: { readonly path: string; readonly type: string; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      asked.push({ path: request.url ?? "", type: String(request.headers["x-amz-invocation-type"]), body });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { asked, endpoint: `http://127.0.0.1:${port}` };
}

test("asks for a delivery without waiting for it, and waits for the answer before its process freezes", async () => {
  const { asked, endpoint } = await lambda(202);
  const requests = deliveryRequests("cairn-dev-sweep", { endpoint });
  await requests.flush();
  expect(asked).toEqual([]);
  requests.noted();
  expect(asked).toEqual([]);
  await requests.flush();
  expect(asked).toEqual([
    { path: "/2015-03-31/functions/cairn-dev-sweep/invocations", type: "Event", body: '{"kind":"deliver"}' },
  ]);
});

test("a request that is refused rejects nothing: the next sweep delivers", async () => {
  const { asked, endpoint } = await lambda(403);
  const requests = deliveryRequests("cairn-dev-sweep", { endpoint });
  requests.noted();
  await expect(requests.flush()).resolves.toBeUndefined();
  expect(asked.length).toBeGreaterThan(0);
});
