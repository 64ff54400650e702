import { AssertionError } from "node:assert";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type HttpAnswer, type HttpEffectOptions, httpEffect } from "../../src/effects/index.ts";
import { Rejected } from "../../src/index.ts";
import { everyFaultPoint, expectEffectsOnce, killAt, runAgent } from "../../src/testing/kit/index.ts";
import { type ServedRequest, json, serve } from "../support/services/http-server.ts";
import { duplicatesIn } from "../support/services/service-view.ts";
import { type Shop, startShop } from "../support/services/shop.ts";
import { callingAgent } from "./calling-agent.ts";
import { callContext } from "../support/agents/call-context.ts";

const input = z.object({ book: z.string() });
const TWO = [{ book: "Emma" }, { book: "Persuasion" }];
const THREE = [...TWO, { book: "Lady Susan" }];

const orderFrom = ({ url }: Shop, options: Partial<HttpEffectOptions<typeof input>> = {}) =>
  httpEffect({ input, request: ({ input }) => ({ url: `${url}/orders`, body: input }), ...options });

const lookupFrom = ({ url }: Shop): Pick<HttpEffectOptions<typeof input>, "lookup"> => ({
  lookup: ({ key }) => ({ url: `${url}/orders/${key}` }),
});

const undoFrom = ({ url }: Shop): Pick<HttpEffectOptions<typeof input>, "undo"> => ({
  undo: { request: ({ of }) => ({ url: `${url}/orders/${of.key}`, method: "DELETE" }) },
});

function formOf(fields: Readonly<Record<string, string>>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}

/** An address at which no server listens any more. */
async function closedAddress(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return `http://127.0.0.1:${port}`;
}

describe("an order at a service that honours keys", () => {
  test("is made once, with a kill at each fault point", async () => {
    const shop = await startShop();
    const agent = callingAgent({ act: orderFrom(shop, { honoursKeys: true }), args: TWO });
    const { points, uninterrupted } = await everyFaultPoint(agent, { input: {}, services: [shop.service] });
    expect(points).toContain("after:effect:act#2");
    expect(uninterrupted.effects).toHaveLength(2);
  });

  test("is asked for again with the same key after a kill, and 0 effects are duplicates", async () => {
    const shop = await startShop();
    const agent = callingAgent({ act: orderFrom(shop, { honoursKeys: true }), args: TWO });
    const run = await killAt(agent, "after:effect:act", { input: {}, services: [shop.service] });
    expectEffectsOnce(run);
    expect(shop.requests).toEqual(["POST /orders", "POST /orders", "POST /orders"]);
    expect(duplicatesIn(run.effects)).toBe(0);
    expect(run.calls.map(({ effect, status }) => `${effect} ${status}`)).toEqual([
      "keyed succeeded",
      "keyed succeeded",
    ]);
  });

  test.each(["answerLost", "unavailable", "busy"] as const)(
    "is repeated when the first request is %s",
    async (fault) => {
      const shop = await startShop({ fault: ({ nth }) => (nth === 1 ? fault : "none") });
      const agent = callingAgent({ act: orderFrom(shop, { honoursKeys: true }), args: TWO });
      const run = await runAgent(agent, { input: {}, services: [shop.service] });
      expect(run.status).toBe("completed");
      expect(shop.requests).toHaveLength(3);
      expectEffectsOnce(run);
      expect(run.effects).toHaveLength(2);
    },
  );

  test("is not taken for failed when the answer of the first request is lost and the second is refused", async () => {
    const faults: Readonly<Record<number, "answerLost" | "refused">> = { 1: "answerLost", 2: "refused" };
    const shop = await startShop({ fault: ({ nth }) => faults[nth] ?? "none" });
    const agent = callingAgent({ act: orderFrom(shop, { honoursKeys: true }), args: TWO });
    const run = await runAgent(agent, { input: {}, services: [shop.service] });
    expect(run.calls.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    expectEffectsOnce(run);
  });

  test("is undone once, with a kill at each fault point", async () => {
    const shop = await startShop();
    const act = orderFrom(shop, { honoursKeys: true, ...undoFrom(shop) });
    const agent = callingAgent({ act, args: THREE, end: "failed" });
    const { uninterrupted, points } = await everyFaultPoint(agent, { input: {}, services: [shop.service] });
    expect(uninterrupted.effects.map(({ undone }) => undone)).toEqual([true, true]);
    expect(points).toContain("after:undo:act#2");
  });
});

test("finds a service that ignores keys although the tool says that it honours them", async () => {
  const shop = await startShop({ honoursKeys: false });
  const agent = callingAgent({ act: orderFrom(shop, { honoursKeys: true }), args: TWO });
  const options = { input: {}, services: [shop.service] };
  await expect(everyFaultPoint(agent, options)).rejects.toThrow(AssertionError);
  const run = await killAt(agent, "after:effect:act", options);
  expect(duplicatesIn(run.effects)).toBe(1);
});

describe("an order that a lookup can find", () => {
  test("is made once by a service that ignores keys, with a kill at each fault point", async () => {
    const shop = await startShop({ honoursKeys: false });
    const agent = callingAgent({ act: orderFrom(shop, lookupFrom(shop)), args: TWO });
    const { points } = await everyFaultPoint(agent, { input: {}, services: [shop.service] });
    expect(points).toContain("after:effect:act#2");
    const run = await killAt(agent, "after:effect:act", { input: {}, services: [shop.service] });
    expect(shop.requests.map((request) => request.split("/")[0])).toEqual(["POST ", "GET ", "POST "]);
    expect(duplicatesIn(run.effects)).toBe(0);
  });

  test("is found when its answer is lost", async () => {
    const shop = await startShop({ honoursKeys: false, fault: ({ nth }) => (nth === 1 ? "answerLost" : "none") });
    const agent = callingAgent({ act: orderFrom(shop, lookupFrom(shop)), args: TWO });
    const run = await runAgent(agent, { input: {}, services: [shop.service] });
    expect(run.status).toBe("completed");
    expect(run.calls.map(({ evidence }) => evidence)[0]).toContain("probe");
    expectEffectsOnce(run);
  });
});

test("a request carries the trace of its call if it is asked to, and what the request sets goes before it", async () => {
  const seen: unknown[] = [];
  const server = createHttpServer((request, response) => {
    seen.push([request.headers["traceparent"], request.headers["tracestate"]]);
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const context = callContext({ input: { book: "Emma" }, tracestate: "vendor=1" });
  const send = (more: object, headers = {}) =>
    httpEffect({ input, request: () => ({ url, body: {}, headers }), ...more }).run(context);
  await send({ sendsTrace: true });
  await send({ sendsTrace: true }, { traceparent: "own" });
  await send({});
  expect(seen).toEqual([
    [context.traceparent, "vendor=1"],
    ["own", "vendor=1"],
    [undefined, undefined],
  ]);
});

test.each([
  ["an unknown outcome if the service honours keys, since a lookup may lag", true, "OutcomeUnknown"],
  ["a failure if it does not, since the lookup was the truth", false, "Error"],
] as const)("a repetition that is refused after a lookup is %s", async (_, honoursKeys, name) => {
  const shop = await startShop({ honoursKeys, fault: () => "refused" });
  const act = orderFrom(shop, { honoursKeys, ...lookupFrom(shop) });
  const context = callContext({ input: { book: "Emma" } });
  await expect(act.run(context)).rejects.toMatchObject({ name: "Error" });
  await expect(act.run({ ...context, attempt: 2 })).rejects.toMatchObject({ name });
});

test("is unsafe without keys and without a lookup: an operator says what a kill left open", async () => {
  const shop = await startShop({ honoursKeys: false });
  const agent = callingAgent({ act: orderFrom(shop), args: TWO });
  await everyFaultPoint(agent, { input: {}, services: [shop.service] });
  const run = await killAt(agent, "after:effect:act", { input: {}, services: [shop.service] });
  expect(run.decided).toEqual(["confirmed"]);
  expect(duplicatesIn(run.effects)).toBe(0);
});

test("a refused order has failed, and is not asked for again", async () => {
  const shop = await startShop({ fault: ({ nth }) => (nth === 1 ? "refused" : "none") });
  const run = await runAgent(callingAgent({ act: orderFrom(shop, { honoursKeys: true }), args: TWO }), {
    ...{ input: {}, services: [shop.service] },
  });
  expect(run.calls.map(({ status }) => status)).toEqual(["failed", "succeeded"]);
  expect(shop.requests).toHaveLength(2);
});

describe("an answer of more than 8 MB", () => {
  const context = callContext({ input: { book: "Emma" } });
  const said = (status: number) => `the service answered ${status} with more than 8388608 bytes, which are not shown`;
  const large = async (status: number, options: Partial<HttpEffectOptions<typeof input>> = {}) => {
    const url = await serve(() => json(status, "x".repeat(8 * 1024 * 1024)));
    return httpEffect({ input, request: () => ({ url }), lookup: () => ({ url }), ...options });
  };
  const unread = () => {
    throw new Error("this function has read an answer without its body");
  };

  test("is a success with a note as its result, if its status says so", async () => {
    expect(await (await large(201, { result: unread })).run(context)).toBe(said(201));
  });

  test.each([
    [422, "Error"],
    [503, "OutcomeUnknown"],
  ])("with the status %i is the error %s", async (status, name) => {
    await expect((await large(status)).run(context)).rejects.toMatchObject({ name, message: said(status) });
  });

  test("is an unknown outcome where a function of the user would judge it", async () => {
    const judged = await large(200, { judge: () => "done" });
    await expect(judged.run(context)).rejects.toMatchObject({ name: "OutcomeUnknown" });
    expect(await (await large(200, { found: unread })).probe?.(context)).toEqual({ kind: "unknown" });
  });

  test("of a lookup means what its status says", async () => {
    expect(await (await large(200)).probe?.(context)).toEqual({ kind: "happened", result: said(200) });
    expect(await (await large(404)).probe?.(context)).toEqual({ kind: "absent" });
  });
});

describe("one request", () => {
  test("carries key and epoch, and a service that compares them refuses a stale epoch", async () => {
    const shop = await startShop();
    const act = orderFrom(shop, { honoursKeys: true, epochHeader: "Fencing-Token" });
    await act.run(callContext({ input: { book: "Emma" }, key: "k2", epoch: 2 }));
    const stale = act.run(callContext({ input: { book: "Persuasion" }, key: "k1", epoch: 1 }));
    await expect(stale).rejects.toThrow('the service answered 412: {"error":"stale epoch"}');
    expect(shop.service.effects).toHaveLength(1);
  });

  test("without a connection has failed, and its effect did not happen", async () => {
    const url = await closedAddress();
    const act = httpEffect({ input, request: () => ({ url }), honoursKeys: true });
    const sent = act.run(callContext({ input: { book: "Emma" } }));
    await expect(sent).rejects.toMatchObject({ name: "Error", message: `POST ${url}: no connection` });
  });

  test("to another protocol is refused before it leaves", async () => {
    const act = httpEffect({ input, request: () => ({ url: "ftp://shop.example/orders" }) });
    const sent = act.run(callContext({ input: { book: "Emma" } }));
    await expect(sent).rejects.toThrow("ftp://shop.example/orders is no address of HTTP: write http:// or https://");
  });

  test.each([
    ["a form", formOf({ book: "Emma" }), /^multipart\/form-data/, /name="book"\r\n\r\nEmma\r\n/],
    ["a blob", new Blob(["Emma"], { type: "text/x-title" }), /^text\/x-title$/, /^Emma$/],
    ["an array buffer", new TextEncoder().encode("Emma").buffer, /^$/, /^Emma$/],
    ["a view of bytes", new DataView(new TextEncoder().encode("an Emma").buffer, 3), /^$/, /^Emma$/],
    ["a date in an object", { on: new Date(0) }, /^application\/json$/, /^\{"on":"1970-01-01T00:00:00.000Z"\}$/],
  ])("has the content of %s as its body", async (_, body, type, text) => {
    const seen: ServedRequest[] = [];
    const url = await serve((request) => json(200, { place: seen.push(request) }));
    const act = httpEffect({ input, request: () => ({ url, body }), honoursKeys: true });
    await act.run(callContext({ input: { book: "Emma" } }));
    expect(seen[0]?.headers["content-type"] ?? "").toMatch(type);
    expect(String(seen[0]?.body)).toMatch(text);
  });

  test.each([
    ["a map", new Map([["book", "Emma"]])],
    ["a stream", new Blob(["Emma"]).stream()],
    ["a number that JSON has not", { copies: Number.NaN }],
  ])("does not leave with %s as its body", async (_, body) => {
    const url = await serve(() => json(200, {}));
    const act = httpEffect({ input, request: () => ({ url, body }), honoursKeys: true });
    const sent = act.run(callContext({ input: { book: "Emma" } }));
    await expect(sent).rejects.toThrow("the body of the request is not JSON, so nothing was sent");
  });

  test("that lands when its call is settled makes no second order", async () => {
    const shop = await startShop();
    const act = orderFrom(shop, { honoursKeys: true });
    const first = await act.run(callContext({ input: { book: "Emma" }, epoch: 2 }));
    expect(await act.run(callContext({ input: { book: "Emma" }, epoch: 1 }))).toEqual(first);
    expect(shop.service.effects).toHaveLength(1);
  });

  test.each(["judge", "result"] as const)(
    "is an unknown outcome when %s throws, and makes no second order",
    async (name) => {
      const shop = await startShop();
      const reads = { [name]: ({ body }: HttpAnswer) => (body as { readonly lines: readonly string[] }).lines[0] };
      const agent = callingAgent({ act: orderFrom(shop, { honoursKeys: true, ...reads }), args: [{ book: "Emma" }] });
      const run = await runAgent(agent, { input: {}, services: [shop.service] });
      expect(run.calls.map(({ status }) => status)).toEqual(["unknown"]);
      expect(shop.requests).toEqual(["POST /orders", "POST /orders", "POST /orders"]);
      expect(run.effects).toHaveLength(1);
    },
  );

  test("is refused when judge says so of the key", async () => {
    const shop = await startShop();
    const judge = (): never => {
      throw new Rejected("the shop knows another order of this key");
    };
    const act = orderFrom(shop, { honoursKeys: true, judge });
    await expect(act.run(callContext({ input: { book: "Emma" } }))).rejects.toMatchObject({ name: "Rejected" });
  });

  test("that is aborted is an unknown outcome", async () => {
    const shop = await startShop();
    const act = orderFrom(shop, { honoursKeys: true });
    const sent = act.run(callContext({ input: { book: "Emma" }, signal: AbortSignal.abort() }));
    await expect(sent).rejects.toMatchObject({ name: "OutcomeUnknown" });
  });

  test("is judged by the user where its status does not tell", async () => {
    const shop = await startShop({ fault: () => "unavailable" });
    const act = orderFrom(shop, { honoursKeys: true, judge: ({ status }) => (status === 503 ? "refused" : undefined) });
    await expect(act.run(callContext({ input: { book: "Emma" } }))).rejects.toMatchObject({ name: "Error" });
  });
});
