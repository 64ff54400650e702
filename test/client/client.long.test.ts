/** The client, over a store in this process and over a real server. */
import { serve } from "@hono/node-server";
import { expectTypeOf, describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { createApi } from "../../src/api/app.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import type { Client } from "../../src/client/client.ts";
import { connect as connectInBrowser } from "../../src/client/browser.ts";
import { CairnError, type LiveItem, connect } from "../../src/client/index.ts";
import { PLACES } from "../../src/operations/places.ts";
import { defineAgent, defineChaos, scriptedModel, tool } from "../../src/index.ts";
import { memoryOf } from "../../src/features/memory/stored.ts";
import { OPERATIONS } from "../../src/operations/table.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { World } from "../../src/ports/world.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { createServedHarness, drive, runnerOf } from "../support/harness/drive.ts";

const clerk = defineAgent({
  name: "clerk",
  version: "1",
  instructions: "",
  task: z.object({ to: z.string() }),
  output: z.object({ sent: z.string() }),
  model: scriptedModel({
    name: "clerk-model",
    reply: ({ turn }) =>
      turn === 0 ? { calls: [{ tool: "send", args: { to: "Ada" } }] } : { text: JSON.stringify({ sent: "Ada" }) },
  }),
  tools: {
    send: tool({ input: z.object({ to: z.string() }), effect: "keyed", approval: "always", run: () => "sent" }),
  },
});
const agents = { clerk };
const INPUT = { to: "Ada" };

interface Place {
  readonly client: Client<typeof agents>;
  readonly world: World;
}

/** Requests that the server refuses or loses before it handles them. */
type Trouble = (request: Request) => Response | "lost" | null;

async function overServer(trouble: Trouble = () => null): Promise<Place & { readonly requests: readonly Request[] }> {
  const { world } = createServedHarness();
  const api = createApi<object>({
    ...{ world, baseOf: () => "", callerOf: () => ({ tenant: "local", actor: "ann", scopes: SCOPES }) },
    agentOf: async (name) => (name === "clerk" ? (clerk as Agent) : null),
  });
  const requests: Request[] = [];
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = serve(
    {
      fetch: async (request, { outgoing }) => {
        requests.push(request.clone());
        const met = trouble(request);
        // The answer is lost after the request was handled.
        if (met !== "lost") return met ?? api.fetch(request, {});
        await api.fetch(request, {});
        outgoing.destroy();
        return new Response(null);
      },
      ...{ port: 0, hostname: "127.0.0.1" },
    },
    ({ port }) => resolve(port),
  );
  onTestFinished(() => void server.close());
  const client = await connect<typeof agents>({ api: `http://127.0.0.1:${await promise}`, token: "secret" });
  return { client, world, requests };
}

async function overStore(): Promise<Place> {
  const { dir, world } = createServedHarness();
  const client = await connect({ store: dir, agents, by: "ann" });
  onTestFinished(() => client.close());
  return { client, world };
}

/** Drives the run as its supervisor would. */
async function advance(world: World, run: string): Promise<void> {
  const row = await world.table.read(run, world.clock.now());
  if (row === null) throw new Error(`there is no run ${run}`);
  const { born, chain, epoch } = row;
  await drive(runnerOf(world, clerk as Agent), { run, born, chain, epoch, agent: "clerk" });
}

describe.each<[string, () => Promise<Place>]>([
  ["a store", overStore],
  ["a server", overServer],
])("over %s", (_, open) => {
  test("starts, follows, approves and waits for a run", async () => {
    const { client, world } = await open();
    const started = await client.start("clerk", INPUT, { key: "one", labels: { team: "ops", env: "prod" } });
    expect(started).toMatchObject({ agent: "clerk", status: "queued", started: true });
    const { run } = started;
    expect(await client.start("clerk", INPUT, { key: "one" })).toMatchObject({ run, started: false });
    await advance(world, run);
    const waiting = await client.wait<"clerk">(run);
    expect(waiting).toMatchObject({ status: "waiting", result: null });
    const [gate] = waiting.gates;
    await client.send(run, "Be polite.", { id: "m1" });
    expect(await client.send(run, "Be polite.", { id: "m1" })).toMatchObject({ message: "m1", delivered: false });
    expect(await client.approve(run, gate?.gate ?? "", { note: "fine" })).toMatchObject({ kind: "accepted" });
    await advance(world, run);
    const ended = await client.wait<"clerk">(run);
    expect(ended).toMatchObject({ status: "completed", result: { sent: "Ada" } });
    expect(await client.ledger(run)).toMatchObject([{ tool: "send", status: "succeeded" }]);
    expect(await client.cost(run)).toMatchObject({
      receipt: { takeovers: 0, lines: [{ for: "scripted:clerk-model" }, {}] },
    });
    expect(await client.list({ agent: "clerk" })).toMatchObject({ runs: [{ run, status: "completed" }] });
    for (const label of ["team=ops", ["team=ops", "env=prod"]])
      expect(await client.list({ label, key: "on" })).toMatchObject({
        runs: [{ run, labels: { team: "ops", env: "prod" } }],
      });
    expect(await client.list({ label: ["team=ops", "env=test"] })).toMatchObject({ runs: [] });
    await expect(client.list({ label: "ops" })).rejects.toMatchObject({ code: "RequestInvalid", status: 422 });
    expect(await client.verify(run)).toMatchObject({ kind: "whole" });
    const kinds: string[] = [];
    for await (const { kind } of client.events(run)) kinds.push(kind);
    expect({ firstKind: kinds[0], lastKind: kinds.at(-1) }).toEqual({ firstKind: "RunStarted", lastKind: "RunEnded" });
    const items: LiveItem[] = [];
    for await (const item of client.follow(run)) items.push(item);
    expect(items.map((item) => (item.kind === "event" ? item.event.kind : item.kind))).toEqual(kinds);
    const { cursor = "" } = items[1] ?? {};
    const rest: LiveItem[] = [];
    for await (const item of client.follow(run, { cursor })) rest.push(item);
    expect(rest).toEqual(items.filter((item) => item.kind === "event" && item.event.version > Number(cursor)));
  });

  test("lists, searches, shows and forgets what an agent keeps", async () => {
    const { client, world } = await open();
    const memory = memoryOf(world, { tenant: "local", scope: "clerk" });
    await memory.put({ id: "a/b", text: "Ada prefers mail." });
    await memory.put({ id: "c", text: "Ben prefers calls." });
    expect(await client.memory("clerk", { limit: 1 })).toMatchObject({ count: 2, entries: [{}] });
    expect(await client.memory("clerk", { query: "ada" })).toMatchObject({ entries: [{ id: "a/b" }], next: null });
    expect(await client.memoryEntry("clerk", "a/b")).toMatchObject({ text: "Ada prefers mail." });
    expect(await client.forgetEntry("clerk", "a/b", { why: "moved" })).toMatchObject({ kind: "forgotten" });
    await expect(client.memoryEntry("clerk", "a/b")).rejects.toMatchObject({ code: "MemoryEntryUnknown" });
    await expect(client.forgetMemory("clerk")).rejects.toMatchObject({ code: "NotConfirmed" });
    expect(await client.forgetMemory("clerk", { confirmed: true })).toMatchObject({ entries: 1, sources: 0 });
  });

  test("throws the code of the operation table, and its facts", async () => {
    const { client } = await open();
    const refusalOf = async (asked: Promise<unknown>): Promise<unknown> =>
      asked.catch((error: unknown) => (error instanceof CairnError ? [error.code, error.status] : error));
    expect(await refusalOf(client.get("local-aaaaaaaaaaaaaaaaaaaaaaaaaa"))).toEqual(["RunUnknown", 404]);
    expect(await refusalOf(client.start("clark" as "clerk", INPUT))).toEqual(["AgentUnknown", 404]);
    expect(await refusalOf(client.start("clerk", { to: 1 } as never))).toEqual(["InputInvalid", 422]);
    const { run } = await client.start("clerk", INPUT, { key: "two" });
    expect(await refusalOf(client.start("clerk", { to: "Ben" }, { key: "two" }))).toEqual(["KeyConflict", 409]);
    await client.cancel(run);
    expect(await refusalOf(client.approve(run, "c1-none"))).toEqual(["Stale", 409]);
    const stale = client.pause(run, { ifMatch: '"not a token"' });
    await expect(stale).rejects.toMatchObject({ code: "Stale", status: 412, facts: { run } });
  });

  test("continues events after a cursor, and never in the middle of a commit", async () => {
    const { client, world } = await open();
    const { run } = await client.start("clerk", INPUT);
    await advance(world, run);
    const stop = new AbortController();
    const all: { readonly kind: string; readonly cursor: number; readonly version: number }[] = [];
    const reading = (async () => {
      for await (const event of client.events(run, { signal: stop.signal })) all.push(event);
    })();
    await vi.waitUntil(() => all.some(({ kind }) => kind === "ApprovalRequested"), { timeout: LIMITS.eventMs });
    stop.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    const [{ cursor } = { cursor: -1 }] = all;
    const again: number[] = [];
    const events = client.events(run, { after: cursor });
    const { value } = await events.next();
    again.push(value?.version ?? -1);
    await events.return();
    expect(again).toEqual([cursor + 1]);
    expect(all.every((event) => event.cursor === event.version || event.cursor === event.version - 1)).toBe(true);
  });
});

describe("a request whose answer is lost", () => {
  test("is sent again with the same key, so that one run starts and one message is sent", async () => {
    let lost = 2;
    const { client, requests, world } = await overServer(({ method }) =>
      method === "POST" && lost-- > 0 ? "lost" : null,
    );
    const { run, started } = await client.start("clerk", INPUT);
    expect(started).toBe(false);
    expect(new Set(requests.map(({ headers }) => headers.get("idempotency-key"))).size).toBe(1);
    expect(requests[0]?.headers.get("authorization")).toBe("Bearer secret");
    expect((await client.list()).runs).toHaveLength(1);
    lost = 1;
    expect(await client.send(run, "Hello.")).toMatchObject({ delivered: false });
    const row = await world.table.read(run, world.clock.now());
    expect(row === null ? [] : await world.inbox.unread({ ...row, limit: 10, now: world.clock.now() })).toHaveLength(1);
  });

  test("is not sent again if twice would differ from once", async () => {
    let lost = false;
    const { client, requests } = await overServer(() => (lost ? "lost" : null));
    const { run } = await client.start("clerk", INPUT);
    lost = true;
    await expect(client.restart(run)).rejects.toMatchObject({ code: "Unreachable", status: null });
    expect(requests.filter(({ url }) => url.endsWith("/restart"))).toHaveLength(1);
  });

  test("is sent again while the server is busy, and at last the error says so", async () => {
    let busy = 2;
    const answer = () => Response.json({ code: "Busy", detail: "try later" }, { status: 503 });
    const { client, requests } = await overServer(() => (busy-- > 0 ? answer() : null));
    expect(await client.list()).toMatchObject({ runs: [] });
    busy = 100;
    await expect(client.list()).rejects.toMatchObject({ code: "Busy", status: 503, message: "try later" });
    expect(requests).toHaveLength(3 + 5);
  });
});

test("it has a method for each operation that has a route: the fields of its path, then the rest of its input", async () => {
  const { client, requests } = await overServer(() => Response.json({ kind: "shown" }));
  for (const [name, [method, path]] of Object.entries(PLACES)) {
    const renamed: string | undefined = { show: "get", timeline: "events", decide: "approve" }[name];
    expect(client).toHaveProperty(renamed ?? name, expect.any(Function));
    if (SPECIAL.has(name)) continue;
    const fields = [...path.matchAll(/\w+(?=})/g)].map(([field]) => `${field}-1`);
    const perform = client[name as keyof typeof client] as (...given: readonly unknown[]) => Promise<unknown>;
    await perform(...fields, { why: "asked" });
    const asked = requests.at(-1);
    expect({ method: asked?.method, pathname: new URL(asked?.url ?? "").pathname }).toEqual({
      method: method.toUpperCase(),
      pathname: path.replaceAll(/\{(\w+)\}/g, "$1-1"),
    });
  }
});

/** Their methods take more by its place, read several pages, or give bytes. */
const SPECIAL = new Set([
  "start",
  "timeline",
  "ledger",
  "export",
  "send",
  "file",
  "decide",
  "answer",
  "signal",
  "assign",
]);

test("agents' types flow through", () => {
  type Typed = Client<typeof agents>;
  expectTypeOf<Parameters<Typed["start"]>[0]>().toEqualTypeOf<"clerk">();
  const call = (client: Typed) => client.start("clerk", { to: "Ada" });
  expectTypeOf(call).returns.resolves.toHaveProperty("run");
  const typed = (client: Typed) => client.get<"clerk">("run");
  expectTypeOf(typed).returns.resolves.toHaveProperty("result").toEqualTypeOf<{ sent: string } | null>();
  expect(Object.keys(OPERATIONS)).toContain("start");
});

test("a module may export more than agents: neither the types nor the client take it for one", async () => {
  const module = { clerk, chaos: defineChaos({ input: () => INPUT }), greeting: "hello", nothing: null };
  const connectTo = (api: string) => connect<typeof module>({ api });
  type Typed = Awaited<ReturnType<typeof connectTo>>;
  expectTypeOf<Parameters<Typed["start"]>[0]>().toEqualTypeOf<"clerk">();
  const typed = (client: Typed) => client.wait<"clerk">("run");
  expectTypeOf(typed).returns.resolves.toHaveProperty("result").toEqualTypeOf<{ sent: string } | null>();
  const { dir } = createServedHarness();
  const client = await connect({ store: dir, agents: module });
  onTestFinished(() => client.close());
  expect(await client.start("clerk", INPUT)).toMatchObject({ agent: "clerk", started: true });
  await expect(client.start("chaos" as "clerk", INPUT)).rejects.toMatchObject({ code: "AgentUnknown" });
});

test("a store that cannot be opened is an error with its code", async () => {
  await expect(connect({ store: "/proc/cairn/below" })).rejects.toMatchObject({ code: "StoreInvalid" });
  await expect(connect({ world: "moon" })).rejects.toMatchObject({ name: "CairnError", code: "Usage" });
});

test("in a browser, a store is refused by name", async () => {
  const target = { store: ".cairn" } as unknown as Parameters<typeof connectInBrowser>[0];
  await expect(connectInBrowser(target)).rejects.toMatchObject({ code: "StoreInBrowser", status: null });
});
