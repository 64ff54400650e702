/** The trace of a caller is taken at each entrance through which a run can be started. */
import { onTestFinished, expect, test } from "vitest";
import { serve } from "@hono/node-server";
import { runCommand } from "../../src/cli/program.ts";
import { connect } from "../../src/client/index.ts";
import { createLocalServer } from "../../src/server/app.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import type { World } from "../../src/ports/world.ts";
import { chatAgent } from "../support/agents/chat-agent.ts";
import { createServedHarness } from "../support/harness/drive.ts";
import { createChainHarness, scriptedAgent } from "../support/harness/harness.ts";
import { createShell } from "../support/processes/cli-in-process.ts";

const PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const HOST = "127.0.0.1:7420";

/** What the runs of the store keep of the traces that started them, the newest run first. */
async function keptIn({ table, clock }: World): Promise<readonly (string | undefined)[]> {
  const page = await table.list({ tenant: "local", status: null, limit: 10, after: null, now: clock.now() });
  return page.rows.map(({ brief }) => brief?.trace);
}

function opened() {
  const harness = createChainHarness();
  const agent = chatAgent({});
  const { fetch } = createLocalServer({
    world: harness.world,
    agentOf: async (name) => (name === agent.name ? agent : null),
    agents: async () => ({ agents: [agent], broken: [] }),
    caller: { tenant: "local", actor: "ann@host", scopes: SCOPES },
    login: async () => null,
    firingsOf: () => [],
  });
  const post = async (path: string, body: unknown, trace: object): Promise<Response> => {
    const headers = { host: HOST, "content-type": "application/json", ...trace };
    const response = await fetch(
      new Request(`http://${HOST}${path}`, { method: "POST", body: JSON.stringify(body), headers }),
    );
    await harness.runUntilIdle(agent);
    return response;
  };
  return { harness, post };
}

const said = { id: "m1", role: "user", parts: [{ type: "text", text: "hello" }] };

const ENTRANCES = [
  ["POST /runs", "/runs", { agent: "talker", input: "hello" }],
  ["a chat", "/chat/talker/c1", { messages: [said], trigger: "submit-message" }],
  ["AG-UI", "/ag-ui/talker", { threadId: "t1", runId: "r1", messages: [{ id: "m1", role: "user", content: "hello" }] }],
  [
    "A2A",
    "/a2a/talker",
    {
      ...{ jsonrpc: "2.0", id: 1, method: "SendMessage" },
      params: {
        message: { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hello" }] },
        configuration: { returnImmediately: true },
      },
    },
  ],
] as const;

test.each(ENTRANCES)("%s takes the trace of its caller", async (_, path, body) => {
  const { harness, post } = opened();
  const response = await post(path, body, { traceparent: PARENT, tracestate: "vendor=1" });
  expect(response.status).toBeLessThan(300);
  expect(await keptIn(harness.world)).toEqual([`link ${PARENT} vendor=1`]);
});

test.each(ENTRANCES)("%s ignores a header that is malformed", async (_, path, body) => {
  const { harness, post } = opened();
  const response = await post(path, body, { traceparent: "00-zz", tracestate: "vendor=1" });
  expect(response.status).toBeLessThan(300);
  expect(await keptIn(harness.world)).toEqual([undefined]);
});

test("a fork takes the trace of who forks, and not that of the run", async () => {
  const { harness, post } = opened();
  const started = await post("/runs", { agent: "talker", input: "hello" }, { traceparent: PARENT });
  const { run } = (await started.json()) as { readonly run: string };
  const other = PARENT.replace("4bf9", "5bf9");
  const forked = await post(`/runs/${run}/fork`, { at: 0, confirmed: true }, { traceparent: other });
  expect(forked.status).toBeLessThan(300);
  const plain = await post(`/runs/${run}/fork`, { at: 0, confirmed: true, key: "k" }, {});
  expect(plain.status).toBeLessThan(300);
  expect(new Set(await keptIn(harness.world))).toEqual(new Set([`link ${PARENT}`, `link ${other}`, undefined]));
});

test("the client sends the trace of its caller", async () => {
  const { dir, world } = createServedHarness();
  const actor = scriptedAgent({});
  const client = await connect({ store: dir, agents: { actor }, by: "ann" });
  onTestFinished(() => client.close());
  await client.start("actor", {}, { traceparent: PARENT, tracestate: "vendor=1" });
  expect(await keptIn(world)).toEqual([`link ${PARENT} vendor=1`]);
});

/** What `cairn schedules`, `cairn start` and others run in: a server over a store, and a shell that reaches it. */
async function servedStore() {
  const { dir, world } = createServedHarness();
  const actor = scriptedAgent({});
  const { fetch } = createLocalServer({
    ...{ world, firingsOf: () => [], login: async () => null },
    agentOf: async () => actor,
    agents: async () => ({ agents: [actor], broken: [] }),
    caller: { tenant: "local", actor: "ada", scopes: SCOPES },
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  const listening = serve({ fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port));
  onTestFinished(() => void listening.close());
  const api = `http://127.0.0.1:${await promise}`;
  const type = async (words: readonly string[], env: Readonly<Record<string, string>>) => {
    const { shell, said: printed } = createShell({ dir, person: null }, [...words, "--api", api]);
    const exit = await runCommand({ ...shell, env: { ...shell.env, ...env } }, "0");
    return { exit, ...printed };
  };
  return { world, type };
}

test("`cairn start` takes TRACEPARENT of its environment, and --traceparent before it", async () => {
  const { world, type } = await servedStore();
  expect((await type(["start", "actor"], { TRACEPARENT: PARENT, TRACESTATE: "vendor=1" })).exit).toBe(0);
  expect(await keptIn(world)).toEqual([`link ${PARENT} vendor=1`]);
  const other = PARENT.replace("4bf9", "5bf9");
  await type(["start", "actor", "--traceparent", other], { TRACEPARENT: PARENT, TRACESTATE: "vendor=1" });
  expect(await keptIn(world)).toContain(`link ${other}`);
});

test("`cairn start` refuses a --traceparent that is malformed, and ignores such an environment", async () => {
  const { world, type } = await servedStore();
  const refused = await type(["start", "actor", "--traceparent", "4bf9"], {});
  expect(refused.exit).toBe(2);
  expect(refused.err).toContain('"4bf9" is no traceparent');
  expect(await keptIn(world)).toEqual([]);
  expect((await type(["start", "actor"], { TRACEPARENT: "4bf9" })).exit).toBe(0);
  expect(await keptIn(world)).toEqual([undefined]);
});
