/**
 * The longest turn of the event loop under each route of a server, on a run of 10,000 events: so many events are handled
 * in it at most, whatever a client asks for. A route that is not in the table fails.
 */
import { z } from "zod";
import { expect, test, onTestFinished } from "vitest";
import { openApiDocument } from "../../src/api/document.ts";
import { defineAgent, react, scriptedModel, tool } from "../../src/index.ts";
import { EVENTS_PER_TURN } from "../../src/ports/reading.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import { startRun } from "../../src/operations/start.ts";
import { createLocalServer } from "../../src/server/app.ts";
import { createServedHarness, drive, runnerOf } from "../support/harness/drive.ts";
import { KERNEL } from "../../src/features/compose.ts";

const NAMES: ReadonlySet<string> = new Set(Object.keys(KERNEL.rows));

function eventsIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const { kind } = value as { readonly kind?: unknown };
  if (typeof kind === "string" && NAMES.has(kind)) return 1;
  return Object.values(value).reduce((sum: number, each) => sum + eventsIn(each), 0);
}

/** From now until the end of the test. `most`: the most events of a turn since the last call. */
function countEventsPerTurn(): { readonly most: () => number } {
  const { parse, stringify } = JSON;
  let [inTurn, most, isOver] = [0, 0, false];
  JSON.parse = (...args: Parameters<typeof parse>): unknown => {
    const value: unknown = parse(...args);
    inTurn += eventsIn(value);
    return value;
  };
  JSON.stringify = ((value: unknown, ...rest: []): string => {
    inTurn += eventsIn(value);
    return stringify(value, ...rest);
  }) as typeof stringify;
  const endTurn = (): void => {
    most = Math.max(most, inTurn);
    inTurn = 0;
    if (!isOver) setImmediate(endTurn);
  };
  setImmediate(endTurn);
  onTestFinished(() => {
    isOver = true;
    [JSON.parse, JSON.stringify] = [parse, stringify];
  });
  return {
    most: () => {
      const found = Math.max(most, inTurn);
      [most, inTurn] = [0, 0];
      return found;
    },
  };
}

const EVENTS = 10_000;
/** The 64 commits of a stored part: each of their events counts when it is decoded, and when it is encoded. */
const MOST = 8 * EVENTS_PER_TURN;

const HOST = "127.0.0.1:7420";
const CALLS = 16;
const BEATS = 210;

const agent = defineAgent({
  ...{ name: "talker", version: "1", instructions: "Go on.", task: z.string(), loops: "ignore" },
  ...{ topology: react({ maxBeats: 2_000 }), price: { inUsd: 1, outUsd: 1 }, budget: { usd: 100, beats: 2_000 } },
  model: scriptedModel({
    name: "talker-model",
    reply: ({ calls: { length } }) => {
      if (length >= BEATS * CALLS) return { text: "There." };
      const numbers = Array.from({ length: CALLS }, (_, index) => length + index);
      return { text: `Step ${length}.`, calls: numbers.map((number) => ({ tool: "step", args: { number } })) };
    },
  }),
  tools: {
    step: tool({ effect: "keyed", input: z.object({ number: z.int() }), run: ({ input }) => ({ at: input.number }) }),
  },
}) as Agent;

async function serverWithLongRun() {
  const { world } = createServedHarness();
  const started = await startRun(world, { agent, input: "Go", tenant: "local", idempotencyKey: "chat-c1" });
  if (started.kind !== "started") throw new Error(started.kind);
  const { run, born } = started.row;
  await drive(runnerOf(world, agent), { run, born, chain: 1, epoch: 0, agent: agent.name }, BEATS + 10);
  const server = createLocalServer({
    world,
    agentOf: async (name) => (name === agent.name ? agent : null),
    agents: async () => ({ agents: [agent], broken: [] }),
    caller: { tenant: "local", actor: "ann", scopes: SCOPES },
    login: async () => null,
    firingsOf: () => [],
  });
  const ask = async (asked: Asked) => {
    const { method, path, body, accept = "*/*" } = asked;
    const headers = { host: HOST, accept, ...(body === undefined ? {} : { "content-type": "application/json" }) };
    const sent = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const answered = await server.fetch(new Request(`http://${HOST}${path.replaceAll("{run}", run)}`, sent));
    const text = await answered.text();
    // The next turn counts what this one did.
    await new Promise((resolve) => setImmediate(resolve));
    return { status: answered.status, text };
  };
  return { world, run, ask };
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly accept?: string;
}

const user = { id: "u1", role: "user" };

/** What is asked of each route. `null`: the path as it is, without a body. */
const ROUTES: Readonly<Record<string, readonly Omit<Asked, "method">[] | null>> = {
  "GET /runs": [{ path: "/runs?limit=500" }, { path: "/runs?agent=talker" }],
  "POST /runs": [{ path: "/runs", body: { agent: "nobody", input: "Go" } }],
  "GET /runs/{run}": null,
  "GET /runs/{run}/events": [
    { path: "/runs/{run}/events", accept: "text/event-stream" },
    { path: "/runs/{run}/events?deltas=true", accept: "text/event-stream" },
    { path: "/runs/{run}/events" },
    { path: "/runs/{run}/events?after=1" },
    { path: "/runs/{run}/events?startIndex=9900" },
    { path: "/runs/{run}/events?deltas=true&wait=0" },
  ],
  "GET /runs/{run}/ledger": null,
  "GET /runs/{run}/cost": null,
  "GET /runs/{run}/diagnosis": null,
  "GET /runs/{run}/verification": null,
  "GET /runs/{run}/snapshots/{version}": [{ path: "/runs/{run}/snapshots/3" }, { path: "/runs/{run}/snapshots/100" }],
  "GET /runs/{run}/replay": [{ path: "/runs/{run}/replay" }, { path: "/runs/{run}/replay?against=talker" }],
  "GET /runs/{run}/export": null,
  "GET /runs/{run}/files/{file}": [{ path: `/runs/{run}/files/${"a".repeat(64)}` }],
  "GET /approvals": null,
  "GET /agents": null,
  "GET /schedules": null,
  "GET /memory/{scope}": [{ path: "/memory/all" }],
  "GET /memory/{scope}/{id}": [{ path: "/memory/all/m1" }],
  "GET /audit-log": null,
  "GET /openapi.json": null,
  "GET /caller": null,
  "GET /healthz": null,
  "GET /runs/{run}/stream": null,
  "GET /chat/{agent}/{chat}": [{ path: "/chat/talker/c1" }],
  "GET /chat/{agent}/{chat}/{stream}/stream": [{ path: "/chat/talker/c1/c1/stream" }],
  "POST /chat/{agent}/{chat}": [
    { path: "/chat/talker/c1", body: { messages: [{ ...user, parts: [{ type: "text", text: "Go" }] }] } },
  ],
  "POST /chat/{agent}/{chat}/stop": [{ path: "/chat/talker/c1/stop", body: {} }],
  "POST /ag-ui/{agent}": [
    { path: "/ag-ui/talker", body: { threadId: "c1", runId: "r1", messages: [{ ...user, content: "Go" }] } },
  ],
  "POST /runs/{run}/messages": [{ path: "/runs/{run}/messages", body: { text: "Go" } }],
  "POST /runs/{run}/approvals/{gate}": [{ path: "/runs/{run}/approvals/g1", body: { as: "approve" } }],
  "POST /runs/{run}/reconcile/{call}": [{ path: "/runs/{run}/reconcile/c1", body: { as: "retry" } }],
  "POST /runs/{run}/answers/{call}": [{ path: "/runs/{run}/answers/c1", body: { result: 1 } }],
  "POST /runs/{run}/signals/{event}": [{ path: "/runs/{run}/signals/paid", body: {} }],
  "POST /runs/{run}/assignment": [{ path: "/runs/{run}/assignment", body: { to: "ann" } }],
  "POST /runs/{run}/upgrade": [{ path: "/runs/{run}/upgrade", body: {} }],
  "POST /runs/{run}/pause": null,
  "POST /runs/{run}/resume": null,
  "POST /runs/{run}/cancel": null,
  "POST /runs/{run}/restart": [{ path: "/runs/{run}/restart", body: {} }],
  "POST /runs/{run}/redrive": [{ path: "/runs/{run}/redrive", body: {} }],
  "POST /runs/{run}/checked": [{ path: "/runs/{run}/checked", body: {} }],
  "POST /runs/{run}/fork": [{ path: "/runs/{run}/fork", body: { at: 100 } }],
  "POST /agents/{agent}/cancel-all": [{ path: "/agents/talker/cancel-all", body: {} }],
  "POST /schedules/{agent}/pause": [{ path: "/schedules/talker/pause", body: {} }],
  "POST /schedules/{agent}/resume": [{ path: "/schedules/talker/resume", body: {} }],
  "POST /schedules/{agent}/runs": [{ path: "/schedules/talker/runs", body: {} }],
  "DELETE /memory/{scope}": [{ path: "/memory/all" }],
  "DELETE /memory/{scope}/{id}": [{ path: "/memory/all/m1" }],
  "GET /health": [{ path: "/health" }],
  "GET /webhooks": [{ path: "/webhooks" }],
  "POST /webhooks/{endpoint}/redeliver": [{ path: "/webhooks/e1/redeliver", body: {} }],
  "POST /callbacks/{token}": [{ path: "/callbacks/none", body: {} }],
  "POST /mcp": [{ path: "/mcp", body: { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} } }],
  "POST /a2a/{agent}": ["GetTask", "SubscribeToTask"].map((method) => ({
    path: "/a2a/talker",
    body: { jsonrpc: "2.0", id: 1, method, params: { id: "{run}" } },
  })),
  // The last one: nothing is left of the run after it.
  "DELETE /runs/{run}": null,
};

test("each route is in the table", () => {
  const { paths } = openApiDocument() as unknown as { readonly paths: Readonly<Record<string, object>> };
  const known = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const beside = ["POST /mcp", "POST /a2a/{agent}"];
  expect(Object.keys(ROUTES).toSorted()).toEqual([...known, ...beside].toSorted());
});

test("no route handles more events of a long run in a turn than a stored part has, and readers share what is decoded", async () => {
  const { run, ask } = await serverWithLongRun();
  const counted = countEventsPerTurn();
  const page = JSON.parse((await ask({ method: "GET", path: `/runs/{run}/events?startIndex=${EVENTS - 1}` })).text) as {
    readonly entries: readonly unknown[];
  };
  expect(page.entries.length).toBeGreaterThan(0);
  const read = () => ask({ method: "GET", path: "/runs/{run}/events", accept: "text/event-stream" });
  const texts = await Promise.all(Array.from({ length: 20 }, read));
  expect(new Set(texts.map(({ text }) => text)).size).toBe(1);
  expect(counted.most()).toBeLessThanOrEqual(MOST);
  // Nothing is left to decode or encode for one more.
  await read();
  expect(counted.most()).toBe(0);
  const found: string[] = [];
  for (const [name, requests] of Object.entries(ROUTES)) {
    const [method = "", path = ""] = name.split(" ");
    for (const asked of requests ?? [{ path }]) {
      const body = JSON.parse(JSON.stringify({ body: asked.body }).replaceAll("{run}", run)) as { body?: unknown };
      counted.most();
      const { status } = await ask({ ...asked, ...body, method });
      const most = counted.most();
      if (status >= 500 || most > MOST) found.push(`${method} ${asked.path}: ${status}, ${most} events in a turn`);
    }
  }
  expect(found).toEqual([]);
});
