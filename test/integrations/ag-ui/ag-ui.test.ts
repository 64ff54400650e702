/** A run in AG-UI's own client, `HttpAgent`, which checks each event and their order. */
import { HttpAgent } from "@ag-ui/client";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { unauthenticated } from "../../../src/api/problem.ts";
import { askHuman } from "../../../src/index.ts";
import type { Authenticate } from "../../../src/api/access/caller.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { SCOPES } from "../../../src/operations/operation.ts";
import { createLocalServer } from "../../../src/server/app.ts";
import { type ChatAgentOptions, chatAgent, echo } from "../../support/agents/chat-agent.ts";
import { createChainHarness } from "../../support/harness/harness.ts";

const HOST = "127.0.0.1:7420";
const URL_HERE = `http://${HOST}/ag-ui/talker`;

function opened(options: ChatAgentOptions & { readonly login?: Authenticate } = {}) {
  const harness = createChainHarness();
  const agent = chatAgent(options);
  const server = createLocalServer({
    world: harness.world,
    agentOf: async (name) => (name === agent.name ? agent : null),
    agents: async () => ({ agents: [agent], broken: [] }),
    caller: { tenant: "local", actor: "ann@host", scopes: SCOPES },
    login: async () => options.login ?? null,
    firingsOf: () => [],
  });
  const send = async (input: string | URL | Request, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set("host", HOST);
    return server.fetch(new Request(input, { ...init, headers }));
  };
  /** The request, and all work of the run that follows from it. */
  const ask = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const response = await send(input, init);
    await harness.runUntilIdle(agent);
    return response;
  };
  const client = new HttpAgent({ url: URL_HERE, threadId: "t1", fetch: ask });
  const posted = (body: unknown) => ({
    ...{ method: "POST", body: JSON.stringify(body) },
    headers: { "content-type": "application/json" },
  });
  const post = (path: string, body: unknown): Promise<Response> => ask(`http://${HOST}${path}`, posted(body));
  /** The request alone. */
  const begin = (body: unknown): Promise<Response> => send(URL_HERE, posted(body));
  return { harness, agent, ask, post, begin, client };
}

type Opened = ReturnType<typeof opened>;

/** What `HttpAgent` makes of one run: how it ended, its result, and the events. */
async function runOnce({ client }: Opened, parameters: Parameters<HttpAgent["runAgent"]>[0] = {}) {
  const events: string[] = [];
  const ends: unknown[] = [];
  let result: unknown;
  await client.runAgent(parameters, {
    onEvent: ({ event }) => void events.push(event.type),
    onRunFinishedEvent: ({ event }) => {
      ends.push(event.outcome);
      ({ result } = event);
    },
    onRunErrorEvent: ({ event }) => void ends.push(event),
  });
  return { events, end: ends[0], run: (result as { run?: string } | undefined)?.run ?? "" };
}

const say = async (it: Opened, id: string, content: string) => {
  it.client.addMessage({ id, role: "user", content });
  return runOnce(it);
};

/** The messages in short: role and text, and the tools of calls. */
const shown = ({ client }: Opened): readonly string[] =>
  client.messages.map((message) => {
    const calls = "toolCalls" in message ? (message.toolCalls ?? []) : [];
    const content = typeof message.content === "string" ? message.content : "";
    return [message.role, content, ...calls.map(({ function: { name } }) => name)]
      .filter((each) => each !== "")
      .join(" ");
  });

const resolved = (interruptId: string, payload: unknown) => ({
  resume: [{ interruptId, status: "resolved" as const, payload }],
});

const gateOf = ({ client }: Opened): string => client.pendingInterrupts[0]?.id ?? "none";

describe("a thread over HttpAgent", () => {
  it("is one run, turn by turn, with tool calls and their results", async () => {
    const it = opened();
    const first = await say(it, "u1", "hello");
    expect(first.end).toEqual({ type: "success" });
    const second = await say(it, "u2", "look at this");
    expect(second.run).toBe(first.run);
    expect(shown(it)).toEqual([
      ...["user hello", "assistant You said: hello", "user look at this"],
      ...["assistant look", "tool seen", "assistant You said: look at this"],
    ]);
    expect(first.events.filter((type) => type !== "TEXT_MESSAGE_CONTENT")).toEqual([
      ...["RUN_STARTED", "STEP_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"],
    ]);
  });

  it("gives a request that is repeated the same answer, and does nothing twice", async () => {
    const it = opened();
    await say(it, "u1", "hello");
    const { run } = await say(it, "u2", "look at this");
    const before = shown(it);
    // The client keeps what it has: the server sends a snapshot without it, and then the answer.
    expect((await runOnce(it)).events).toContain("MESSAGES_SNAPSHOT");
    expect(shown(it)).toEqual(before);
    const { entries } = (await (await it.ask(`http://${HOST}/runs/${run}/events`)).json()) as {
      entries: { kind: string }[];
    };
    expect(entries.filter(({ kind }) => kind === "ModelCallCompleted")).toHaveLength(3);
  });

  it.each([
    [{ approved: true }, /^tool .*"paid":5/],
    [{ approved: true, editedArgs: { euros: 3 } }, /^tool .*"paid":3/],
    [{ approved: false, reason: "too much" }, /denied/],
  ])("ends with an interrupt where an approval is needed, and goes on with %j", async (payload, result) => {
    const it = opened();
    const asked = await say(it, "u1", "pay it");
    expect(asked.end).toMatchObject({
      type: "interrupt",
      interrupts: [{ reason: "tool_call", toolCallId: "c1", metadata: { tool: "pay" } }],
    });
    const done = await runOnce(it, resolved(gateOf(it), payload));
    expect(done.end).toEqual({ type: "success" });
    const last = shown(it).slice(-3);
    expect(last).toEqual([expect.stringMatching(/pay$/), expect.stringMatching(result), "assistant You said: pay it"]);
  });

  it("shows how a call was settled after messages that did not wait for it", async () => {
    const it = opened();
    const { run } = await say(it, "u1", "pay it");
    // The client sends no message while it has an interrupt, and another door does.
    const sent = await it.post(`/runs/${run}/messages`, { text: "and hello", id: "u2" });
    expect(sent.status).toBe(202);
    const done = await runOnce(it, resolved(gateOf(it), { approved: true }));
    expect(done.end).toEqual({ type: "success" });
    expect(shown(it)).toEqual([
      ...["user pay it", "assistant pay"],
      ...[expect.stringMatching(/^tool .*"paid":5/), "assistant You said: and hello"],
    ]);
  });

  it("takes a decision together with a message that the run does not have", async () => {
    const it = opened();
    await say(it, "u1", "pay it");
    const gate = gateOf(it);
    it.client.addMessage({ id: "u2", role: "user", content: "and hello" });
    const done = await runOnce(it, resolved(gate, { approved: true }));
    expect(done.end).toEqual({ type: "success" });
    expect(shown(it).at(-1)).toBe("assistant You said: and hello");
  });

  it("takes the first decision about an interrupt, from any caller", async () => {
    const it = opened();
    const { run } = await say(it, "u1", "pay it");
    const gate = gateOf(it);
    expect((await it.post(`/runs/${run}/approvals/${gate}`, { as: "approve" })).status).toBeLessThan(300);
    await expect(runOnce(it, resolved(gate, { approved: false }))).rejects.toThrow(/409/);
    expect(shown(it).filter((message) => message.startsWith("tool"))).toEqual([]);
    // The same decision again is no error, and its answer is that of the first.
    const again = opened();
    await say(again, "u1", "pay it");
    const request = resolved(gateOf(again), { approved: true });
    await runOnce(again, request);
    const before = shown(again);
    await runOnce(again, request);
    expect(shown(again)).toEqual(before);
  });

  it("asks only for the decisions that are still open", async () => {
    const calls = [
      { tool: "ask", args: { question: "Which account?" } },
      { tool: "pay", args: { euros: 2 } },
    ];
    const it = opened({
      tools: { ask: askHuman({ answer: z.string() }) },
      reply: (conversation) =>
        conversation.messages.at(-1)?.role === "user" ? { calls, tokensIn: 1, tokensOut: 1 } : echo(conversation),
    });
    await say(it, "u1", "both");
    const asked = it.client.pendingInterrupts.map(({ id }) => id);
    expect(asked).toHaveLength(2);
    const gate = asked.find((id) => id !== "answer:c1");
    const answer = await it.post("/ag-ui/talker", {
      ...{ threadId: "t1", runId: "r2" },
      resume: [{ interruptId: "answer:c1", status: "resolved", payload: "mine" }],
      messages: it.client.messages,
    });
    const last = (await answer.text()).trim().split("\n\n").at(-1)?.slice(6) ?? "";
    expect(JSON.parse(last)).toMatchObject({ outcome: { type: "interrupt", interrupts: [{ id: gate }] } });
  });

  it("denies where the user abandons the interrupt, and decides nothing without a decision", async () => {
    const it = opened();
    await say(it, "u1", "pay it");
    const gate = gateOf(it);
    await expect(runOnce(it, resolved(gate, { yes: true }))).rejects.toThrow(/422/);
    await runOnce(it, { resume: [{ interruptId: gate, status: "cancelled" }] });
    expect(shown(it).at(-2)).toMatch(/^tool .*denied/);
  });

  it("asks a question of the agent as an interrupt, with the schema of its answer", async () => {
    const it = opened({
      tools: { ask: askHuman({ answer: z.object({ city: z.string() }) }) },
      reply: (conversation) =>
        conversation.messages.at(-1)?.role === "user"
          ? { calls: [{ tool: "ask", args: { question: "Which city?" } }], tokensIn: 1, tokensOut: 1 }
          : echo(conversation),
    });
    const asked = await say(it, "u1", "weather");
    expect(asked.end).toMatchObject({
      interrupts: [{ id: "answer:c1", reason: "input_required", message: "Which city?" }],
    });
    expect(it.client.pendingInterrupts[0]?.responseSchema).toMatchObject({ properties: { city: { type: "string" } } });
    const done = await runOnce(it, resolved("answer:c1", { city: "Oslo" }));
    expect(done.end).toEqual({ type: "success" });
    const after = shown(it);
    expect(after.slice(-2)).toEqual(['tool {"city":"Oslo"}', "assistant You said: weather"]);
    await runOnce(it, resolved("answer:c1", { city: "Oslo" }));
    expect(shown(it)).toEqual(after);
    await expect(runOnce(it, resolved("answer:c1", { city: "Rome" }))).rejects.toThrow(/409/);
  });

  it("ends as the run does", async () => {
    const it = opened();
    const { run } = await say(it, "u1", "hello");
    it.client.addMessage({ id: "u2", role: "user", content: "more" });
    const input = { threadId: "t1", runId: "r2", messages: it.client.messages };
    const stream = await it.begin(input);
    await sendRequest(it.harness.world, { run, want: "cancel" });
    await it.harness.runUntilIdle(it.agent);
    expect(await stream.text()).toMatch(/"type":"RUN_FINISHED",.*"outcome":{"type":"cancelled"}/);
    expect((await it.post("/ag-ui/talker", { ...input, runId: "r3" })).status).toBe(200);
    const late = [...input.messages, { id: "u3", role: "user", content: "and?" }];
    expect((await it.post("/ag-ui/talker", { ...input, messages: late })).status).toBe(409);
    const broke = opened({
      reply: () => {
        throw new Error("no such model");
      },
    });
    const failed = await say(broke, "u1", "hello");
    expect(failed.events).toEqual(["RUN_STARTED", "RUN_ERROR"]);
  });

  it.each([
    [{ runId: "r", messages: [] }, 422],
    [{ threadId: "t1", messages: [] }, 422],
    [{ threadId: "t1", runId: "r", messages: [] }, 422],
    [{ threadId: "t 1", runId: "r", messages: [{ id: "u", role: "user", content: "x" }] }, 422],
    [{ threadId: "t1", runId: "r", messages: [{ role: "user", content: "x" }] }, 422],
    [{ threadId: "t1", runId: "r", messages: [{ id: "u", role: "user", content: [{ type: "image" }] }] }, 415],
    [{ threadId: "t1", runId: "r", messages: [], resume: [{ interruptId: "c1-x", status: "resolved" }] }, 422],
    [
      {
        ...{ threadId: "t1", runId: "r", messages: [{ id: "u", role: "user", content: "x" }] },
        resume: [{ interruptId: "c1-x", status: "cancelled" }],
      },
      404,
    ],
    ["text", 422],
  ])("refuses %j", async (body, status) => {
    const { post, harness } = opened();
    expect((await post("/ag-ui/talker", body)).status).toBe(status);
    expect(harness.world.store.rows.size).toBe(0);
  });

  it("takes JSON only, knows its agents only, and answers no caller that the API does not know", async () => {
    const input = { threadId: "t1", runId: "r", messages: [{ id: "u", role: "user", content: "hello" }] };
    const it = opened();
    expect((await it.ask(URL_HERE, { method: "POST", body: JSON.stringify(input) })).status).toBe(415);
    expect((await it.post("/ag-ui/nobody", input)).status).toBe(404);
    const strangers = opened({
      login: async () => {
        throw unauthenticated();
      },
    });
    expect((await strangers.post("/ag-ui/talker", input)).status).toBe(401);
    const readers = opened({ login: async () => ({ tenant: "acme", actor: "bo", scopes: ["runs:read"] }) });
    const refused = await readers.post("/ag-ui/talker", input);
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 403,
      body: { code: "ScopeMissing" },
    });
  });
});
