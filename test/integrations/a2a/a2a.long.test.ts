/** Agents as A2A's own client sees them: cards, tasks, decisions, conversations, streams and refusals. */
import type { Message } from "@a2a-js/sdk";
import { type Client, ClientFactory, JsonRpcTransportFactory } from "@a2a-js/sdk/client";
import { describe, expect, it } from "vitest";
import { chatAgent } from "../../support/agents/chat-agent.ts";
import { type ProtocolServer, protocolServer } from "../../support/harness/protocol-server.ts";

async function clientOf({ url }: ProtocolServer, agent = "clerk"): Promise<Client> {
  const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory()] });
  return factory.createFromUrl(`${url}/a2a/${agent}/`);
}

const ROLE_USER = 1;
const STATE = { working: 2, completed: 3, failed: 4, canceled: 5, inputRequired: 6 } as const;

type Part = Message["parts"][number];
const part = (content: Part["content"]): Part => ({ content, metadata: undefined, filename: "", mediaType: "" });
const text = (value: string): Part => part({ $case: "text", value });
const json = (value: object): Part => part({ $case: "data", value });

const message = (id: string, of: { readonly parts: readonly Part[]; readonly taskId?: string }): Message => ({
  ...{ messageId: id, taskId: of.taskId ?? "", contextId: "", role: ROLE_USER, parts: [...of.parts] },
  ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
});

async function sent(client: Client, said: Message, returnImmediately = false) {
  const configuration = {
    ...{ acceptedOutputModes: [], taskPushNotificationConfig: undefined, historyLength: undefined, returnImmediately },
  };
  const result = await client.sendMessage({ tenant: "", message: said, configuration, metadata: undefined });
  if (!("status" in result)) throw new Error("the agent answered with a message instead of a task");
  return result;
}

type Task = Awaited<ReturnType<typeof sent>>;

const wordsOf = ({ status }: Pick<Task, "status">): string =>
  (status?.message?.parts ?? []).map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");

const planned = (id: string, plan: string): Message => message(id, { parts: [json({ plan })] });

async function rpc({ url }: ProtocolServer, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const answer = await fetch(`${url}/a2a/clerk`, {
    ...{ method: "POST", body: JSON.stringify(body) },
    headers: { "content-type": "application/json", ...headers },
  });
  return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> };
}

describe("an agent", () => {
  it("is found by its card, and a message starts a run of it whose result is the artifact of the task", async () => {
    const server = await protocolServer();
    const client = await clientOf(server);
    const task = await sent(client, planned("m1", "look"));
    expect(task.status?.state).toBe(STATE.completed);
    expect(task.artifacts).toMatchObject([{ parts: [{ content: { $case: "text", value: "did look: succeeded" } }] }]);
    // The same message again is the same task, and it is read by its ID.
    expect((await sent(client, planned("m1", "look"))).id).toBe(task.id);
    expect(await server.runs()).toEqual([task.id]);
    expect(await client.getTask({ tenant: "", id: task.id, historyLength: undefined })).toMatchObject({ id: task.id });
  });

  it("waits for a decision, which is made once, also if the client repeats its message", async () => {
    const server = await protocolServer();
    const client = await clientOf(server);
    const asks = await sent(client, planned("m1", "send"));
    const question = expect.stringContaining('May send be called with {"to":"Ada"}?');
    expect({ state: asks.status?.state, words: wordsOf(asks) }).toEqual({
      state: STATE.inputRequired,
      words: question,
    });
    await expect(sent(client, message("m2", { taskId: asks.id, parts: [text("yes")] }))).rejects.toThrow(/approved/);
    const yes = message("m3", { taskId: asks.id, parts: [json({ approved: true, note: "fine" })] });
    expect((await sent(client, yes)).status?.state).toBe(STATE.completed);
    expect((await sent(client, yes)).status?.state).toBe(STATE.completed);
    expect(server.sent).toHaveLength(1);
  });

  it("does not act if the decision is no", async () => {
    const server = await protocolServer();
    const client = await clientOf(server);
    const asks = await sent(client, planned("m1", "send"));
    const no = await sent(client, message("m2", { taskId: asks.id, parts: [json({ approved: false })] }));
    expect(no.status?.state).toBe(STATE.completed);
    expect(server.sent).toEqual([]);
  });

  it("asks a question, which the client answers", async () => {
    const client = await clientOf(await protocolServer());
    const asks = await sent(client, planned("m1", "ask"));
    expect({ state: asks.status?.state, words: wordsOf(asks) }).toEqual({
      state: STATE.inputRequired,
      words: "Which colour?",
    });
    const done = await sent(client, message("m2", { taskId: asks.id, parts: [json({ colour: "blue" })] }));
    expect(done.artifacts).toMatchObject([{ parts: [{ content: { $case: "text", value: "did ask: succeeded" } }] }]);
  });

  it("fails a task whose run fails, with its code", async () => {
    const client = await clientOf(await protocolServer());
    const task = await sent(client, planned("m1", "fail"));
    expect({ state: task.status?.state, words: wordsOf(task) }).toEqual({
      state: STATE.failed,
      words: expect.stringContaining("ModelFailed"),
    });
  });

  it("goes on with a conversation, gives each reply, and is cancelled", async () => {
    const server = await protocolServer({ more: [chatAgent()] });
    const client = await clientOf(server, "talker");
    const first = await sent(client, message("m1", { parts: [text("one")] }));
    expect({ state: first.status?.state, words: wordsOf(first) }).toEqual({
      state: STATE.inputRequired,
      words: "You said: one",
    });
    const second = await sent(client, message("m2", { taskId: first.id, parts: [text("two")] }));
    expect({ id: second.id, words: wordsOf(second) }).toEqual({ id: first.id, words: "You said: two" });
    // A task of another agent is none of this one.
    const other = await clientOf(server);
    await expect(other.cancelTask({ tenant: "", id: first.id, metadata: undefined })).rejects.toThrow(/no such task/);
    await client.cancelTask({ tenant: "", id: first.id, metadata: undefined });
    await expect
      .poll(async () => (await client.getTask({ tenant: "", id: first.id, historyLength: undefined })).status?.state)
      .toBe(STATE.canceled);
    await expect(sent(client, message("m3", { taskId: first.id, parts: [text("three")] }))).rejects.toThrow(/Late/);
  });

  it("streams what its run does, and ends with the artifact and the state", async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const client = await clientOf(await protocolServer({ gate }));
    const kinds: string[] = [];
    const states: unknown[] = [];
    const asked = { tenant: "", message: planned("m1", "look"), configuration: undefined, metadata: undefined };
    for await (const { payload } of client.sendMessageStream(asked)) {
      kinds.push(payload?.$case ?? "");
      if (payload?.$case === "statusUpdate") {
        states.push(payload.value.status?.state);
        open();
      }
    }
    expect({ begin: kinds[0], end: kinds.slice(-2) }).toEqual({
      begin: "task",
      end: ["artifactUpdate", "statusUpdate"],
    });
    expect([states.at(0), states.at(-1)]).toEqual([STATE.working, STATE.completed]);
  });

  it("answers at once if the client wants no wait, and is followed later", async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const client = await clientOf(await protocolServer({ gate }));
    const task = await sent(client, planned("m1", "look"), true);
    expect(task.status?.state).toBe(STATE.working);
    const last: unknown[] = [];
    open();
    for await (const { payload } of client.resubscribeTask({ tenant: "", id: task.id }))
      last.push(payload?.$case === "statusUpdate" ? payload.value.status?.state : payload?.$case);
    expect(last.at(-1)).toBe(STATE.completed);
  });
});

describe("a request", () => {
  const call = (method: string, params: object) => ({ jsonrpc: "2.0", id: 7, method, params });
  const task = (parts: readonly object[]) => call("SendMessage", { message: { messageId: "m", parts } });

  it.each([
    ["an unknown method", call("Dance", {}), -32_601, "MethodUnknown"],
    ["an unknown task", call("GetTask", { id: `local-${"a".repeat(26)}` }), -32_001, "RunUnknown"],
    [
      "a message without an ID",
      call("SendMessage", { message: { parts: [{ text: "x" }] } }),
      -32_602,
      "RequestInvalid",
    ],
    ["a message without a part", task([]), -32_602, "RequestInvalid"],
    ["a file", task([{ url: "http://other.example/x.png" }]), -32_602, "RequestInvalid"],
    ["a task that does not fit", task([{ data: { x: 1 } }]), -32_602, "InputInvalid"],
  ])("with %s is an error of the protocol with a stable code", async (_, body, code, name) => {
    const answer = await rpc(await protocolServer(), body);
    expect(answer).toMatchObject({ status: 200, body: { id: 7, error: { code, data: [{ code: name }] } } });
  });

  it("without a token, with too small a scope, or from a page of another site is refused", async () => {
    const server = await protocolServer({ isOpen: false });
    expect((await rpc(server, call("GetTask", { id: "x" }))).status).toBe(401);
    expect((await fetch(`${server.url}/a2a/clerk/.well-known/agent-card.json`)).status).toBe(401);
    const reads = { authorization: `Bearer ${await server.tokenFor(["runs:read"])}` };
    const refused = await rpc(server, task([{ data: { plan: "look" } }]), reads);
    expect(refused.body).toMatchObject({ error: { code: -32_603, data: [{ code: "ScopeMissing" }] } });
    const other = await rpc(server, call("GetTask", { id: "x" }), { ...reads, origin: "http://other.example" });
    expect(other.status).toBe(403);
    expect(await server.runs()).toEqual([]);
  });

  it("for the card of an agent that there is not is 404", async () => {
    const { url } = await protocolServer();
    expect((await fetch(`${url}/a2a/nobody/.well-known/agent-card.json`)).status).toBe(404);
  });
});
