/** Runs that share one connection: the failed request of one run leaves the calls of the others at work. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ToolSource } from "../../src/ports/agent.ts";
import { waitForCount, waitUntil } from "../support/gate/safety.ts";

import { LIMITS } from "../support/gate/limits.ts";
import { callsOf, isAlive, openDesk, serverOf } from "./desk.ts";
import { guardedServer } from "./guarded-server.ts";

const TOKEN = "opaque-value-of-the-token";
const SECRETS = { get: async () => TOKEN };
const listOf = (source: ToolSource, now = 0) => source.list({ secrets: SECRETS, mayBeOld: false, now });

test("a list without an answer in time leaves the call at work that keeps the server busy", async () => {
  const desk = openDesk();
  onTestFinished(desk.goOn);
  const source = serverOf(desk.options);
  const call = await callsOf(source, "desk_post", SECRETS);
  desk.fault("busy");
  const busy = call();
  busy.catch(() => undefined);
  await waitForCount("the call reaches the server", 1, () => desk.seen("asked").length);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const timers = vi.getTimerCount();
  const late = listOf(source, 61_000);
  late.catch(() => undefined);
  await expect.poll(() => vi.getTimerCount()).toBeGreaterThan(timers);
  // Long enough for the request, and for the end of a server whose connection is closed.
  await vi.advanceTimersByTimeAsync(LIMITS.startMs + 60_000);
  vi.useRealTimers();
  await expect(late).rejects.toThrow(/MCP server desk cannot be reached: .*timed out/i);
  // The next list of a run has a server that answers.
  expect(Object.keys(await listOf(source, 61_000))).toContain("desk_post");
  const [first, second] = desk.seen("started");
  expect([first?.pid, second?.pid].map(isAlive)).toEqual([true, true]);
  desk.goOn();
  expect(await busy).toBe("post: a, no token");
  expect(desk.seen("done")).toHaveLength(1);
  await waitUntil(() => expect(isAlive(first?.pid)).toBe(false));
  expect(await call()).toBe("post: a, no token");
  expect(desk.seen("started")).toHaveLength(2);
});

// Servers answer 404 or 400 when they have forgotten the session.
describe.each([
  [401, "keeps", 1],
  [429, "keeps", 1],
  [413, "keeps", 1],
  [400, "gives up", 2],
  [404, "gives up", 2],
  [500, "gives up", 2],
] as const)("an answer of %i, which %s the connection,", (status, _, connections) => {
  test("to a list or a call leaves the call at work that the server took before", async () => {
    const server = await guardedServer([TOKEN]);
    const source = serverOf({ name: "desk", url: server.url, token: () => TOKEN });
    const call = await callsOf(source, "desk_look", SECRETS);
    const { promise, resolve } = Promise.withResolvers<void>();
    server.held = promise;
    const long = call();
    long.catch(() => undefined);
    await waitForCount("the call reaches the server", 1, () => server.calls.length);
    server.refusal = { ...server.refusal, status };
    server.valid.clear();
    await expect(call()).rejects.toThrow(/answered 401|did not take the call|was lost in the middle/);
    await expect(listOf(source, 61_000)).rejects.toThrow(/refuses access|cannot be reached/);
    resolve();
    expect(await long).toBe(`seen with ${TOKEN}`);
    server.valid.add(TOKEN);
    expect(Object.keys(await listOf(source, 62_000))).toEqual(["desk_look"]);
    expect(await call()).toBe(`seen with ${TOKEN}`);
    expect(server.connections).toBe(connections);
  });
});

test("a list that is refused is asked for again after a pause, which grows", async () => {
  const server = await guardedServer([TOKEN]);
  const source = serverOf({ name: "desk", url: server.url, token: () => TOKEN });
  await listOf(source);
  server.valid.clear();
  const refusedAt: number[] = [];
  for (let now = 61_000; now < 64_000; now += 100) {
    const before = server.refused.length;
    await expect(listOf(source, now)).rejects.toThrow(/refuses access: it answered 401/);
    if (server.refused.length > before) refusedAt.push(now - 61_000);
  }
  expect(refusedAt).toEqual([0, 500, 1_500]);
});
