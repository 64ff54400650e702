/** A run in `useChat`'s own transport: turns, approvals, reconnects, and what a page begins with after a reload. */
import {
  type UIMessage,
  type UIMessageChunk,
  lastAssistantMessageIsCompleteWithToolCalls,
  readUIMessageStream,
  safeValidateUIMessages,
  uiMessageChunkSchema,
} from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { askHuman, childTool, defineAgent, scriptedModel } from "../../../src/index.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { startRun } from "../../../src/operations/start.ts";
import { send } from "../../../src/operations/steer.ts";
import { type ChatAgentOptions, echo } from "../../support/agents/chat-agent.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { CHAT_API, CHAT_HOST, type ChatServer, openChatServer } from "../../support/harness/chat-page.ts";

const opened = openChatServer;
type Opened = ChatServer;

const user = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

/** Sends the messages as `useChat` does, checks each chunk, and returns the assistant's message that comes of them. */
async function turn({ transport }: Opened, messages: UIMessage[]): Promise<UIMessage> {
  const stream = await transport.sendMessages({
    ...{ trigger: "submit-message", chatId: "c1", messages, messageId: undefined, abortSignal: undefined },
  });
  return messageOf(stream, messages.at(-1));
}

async function messageOf(stream: ReadableStream<UIMessageChunk>, last?: UIMessage): Promise<UIMessage> {
  const checked = stream.pipeThrough(
    new TransformStream<UIMessageChunk, UIMessageChunk>({
      transform: async (chunk, controller) => {
        const found = await uiMessageChunkSchema().validate?.(chunk);
        expect(found).toMatchObject({ success: true });
        controller.enqueue(chunk);
      },
    }),
  );
  let message: UIMessage | undefined;
  const goesOn = last?.role === "assistant" ? { message: structuredClone(last) } : {};
  const errors: unknown[] = [];
  for await (const each of readUIMessageStream({
    stream: checked,
    onError: (error) => errors.push(error),
    ...goesOn,
  })) {
    message = each;
  }
  expect(errors).toEqual([]);
  if (message === undefined) throw new Error("no message came");
  return structuredClone(message);
}

const textOf = ({ parts }: UIMessage): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("|");

const toolOf = ({ parts }: UIMessage, type: string) => parts.find((part) => part.type === type);

/** The raw chunks from that index on. */
async function chunksFrom({ ask }: Opened, stream: string, startIndex: number): Promise<readonly UIMessageChunk[]> {
  const response = await ask(`http://${CHAT_HOST}/runs/${stream}/stream?startIndex=${startIndex}`);
  expect({ status: response.status, stream: response.headers.get("x-vercel-ai-ui-message-stream") }).toEqual({
    status: 200,
    stream: "v1",
  });
  // Neither nginx nor a compression holds an event back.
  expect(response.headers.get("x-accel-buffering")).toBe("no");
  expect(response.headers.get("cache-control")).toBe("no-store, no-transform");
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
  return lines.map((line) => JSON.parse(line.slice(6)) as UIMessageChunk);
}

const streamIn = ({ answers }: Opened): string => answers.at(-1)?.headers.get("x-workflow-run-id") ?? "";

describe("a chat over WorkflowChatTransport", () => {
  it("answers turn by turn in one run, and shows tool calls with their results", async () => {
    const chat = opened();
    const first = [user("u1", "hello")];
    const answer = await turn(chat, first);
    expect({ id: answer.id, text: textOf(answer) }).toEqual({ id: "turn-1", text: "You said: hello" });
    const second = await turn(chat, [...first, answer, user("u2", "look at this")]);
    expect({ id: second.id, text: textOf(second) }).toEqual({ id: "turn-2", text: "You said: look at this" });
    expect(toolOf(second, "tool-look")).toMatchObject({ state: "output-available", output: "seen" });
    expect((await safeValidateUIMessages({ messages: [...first, answer, second] })).success).toBe(true);
    expect(chat.harness.world.chain).toBeDefined();
  });

  it("takes the same message twice as one", async () => {
    const chat = opened();
    const first = [user("u1", "hello")];
    const answer = await turn(chat, first);
    expect(textOf(await turn(chat, first))).toBe("You said: hello");
    const next = [...first, answer, user("u2", "again")];
    expect(textOf(await turn(chat, next))).toBe("You said: again");
    expect(textOf(await turn(chat, next))).toBe("You said: again");
    expect(textOf(await turn(chat, [...next, user("u3", "more")]))).toBe("You said: more");
  });

  it.each([
    { approved: true, reason: "go on", state: { state: "output-available", output: { paid: 5 } } },
    { approved: false, reason: "too much", state: { state: "output-denied" } },
  ])("asks for an approval, and goes on with the decision approved=$approved", async ({ approved, reason, state }) => {
    const chat = opened();
    const asked = [user("u1", "pay it")];
    const waiting = await turn(chat, asked);
    const part = toolOf(waiting, "tool-pay") as unknown as { state: string; approval: { id: string } };
    expect(part.state).toBe("approval-requested");
    // What `addToolApprovalResponse` does.
    Object.assign(part, { state: "approval-responded", approval: { ...part.approval, approved, reason } });
    const done = await turn(chat, [...asked, waiting]);
    expect(done.id).toBe(waiting.id);
    expect(toolOf(done, "tool-pay")).toMatchObject({ ...state, approval: { approved, reason } });
    expect(textOf(done)).toBe("You said: pay it");
  });

  it("answers a question of the agent with the output that the page adds, and shows cairn's own results beside it", async () => {
    const calls = [
      { tool: "look", args: {} },
      { tool: "ask", args: { question: "Which city?" } },
    ];
    const chat = opened({
      tools: { ask: askHuman({ answer: z.object({ city: z.string() }) }) },
      reply: (said) => (said.messages.at(-1)?.text === "weather" ? { calls, tokensIn: 1, tokensOut: 1 } : echo(said)),
    });
    const asked = [user("u1", "weather")];
    const waiting = await turn(chat, asked);
    expect(waiting.metadata).toMatchObject({ status: "waiting" });
    const part = toolOf(waiting, "tool-ask") as object;
    expect(part).toMatchObject({ state: "input-available", input: { question: "Which city?" } });
    expect(toolOf(waiting, "tool-look")).toMatchObject({ state: "output-available" });
    // What `addToolOutput` does.
    Object.assign(part, { state: "output-available", output: { town: "Oslo" } });
    await expect(turn(chat, [...asked, waiting])).rejects.toThrow("to deeply equal");
    expect(chat.answers.at(-1)?.status).toBe(422);
    Object.assign(part, { output: { city: "Oslo" } });
    const given = structuredClone(waiting);
    const done = await turn(chat, [...asked, given]);
    expect(toolOf(done, "tool-ask")).toMatchObject({ state: "output-available", output: { city: "Oslo" } });
    expect(lastAssistantMessageIsCompleteWithToolCalls({ messages: [waiting] })).toBe(true);
    expect({ id: done.id, text: textOf(done) }).toEqual({ id: waiting.id, text: "You said: weather" });
    // The page sends the same again after a broken connection.
    expect(await turn(chat, [...asked, given])).toEqual(done);
    expect(textOf(await turn(chat, [...asked, done, user("u2", "thanks")]))).toBe("You said: thanks");
  });

  it("finishes each turn of a conversation that leaves a child run alone", async () => {
    const child = defineAgent({
      ...{ name: "errand", version: "1", instructions: "Do it.", task: z.object({}), budget: { usd: 0.1 } },
      ...{ price: { inUsd: 1, outUsd: 1 }, tools: {} },
      model: scriptedModel({ name: "script", reply: () => ({ text: "done", tokensIn: 1, tokensOut: 1 }) }),
    }) as Agent;
    const send = childTool({
      agent: "errand",
      description: "Sends out.",
      wait: false,
      input: z.object({}),
      budget: { usd: 0.1, beats: 3 },
    });
    const reply: ChatAgentOptions["reply"] = (said) =>
      said.messages.at(-1)?.role === "user"
        ? { calls: [{ tool: "send", args: {} }], tokensIn: 1, tokensOut: 1 }
        : echo(said);
    const chat = opened({ tools: { send }, reply }, [child]);
    const first = await turn(chat, [user("u1", "one")]);
    expect(first.metadata).toMatchObject({ status: "open" });
    expect(toolOf(first, "tool-send")).toMatchObject({
      state: "output-available",
      output: { run: expect.any(String) },
    });
    const second = await turn(chat, [user("u1", "one"), first, user("u2", "two")]);
    expect({ id: second.id, text: textOf(second) }).toEqual({ id: "turn-2", text: "You said: two" });
  });

  it("gives the same chunk at each index, in each stream of a turn", async () => {
    const chat = opened();
    await turn(chat, [user("u1", "look at this")]);
    const stream = streamIn(chat);
    const all = await chunksFrom(chat, stream, 0);
    expect(all.at(0)).toEqual({ type: "start", messageId: "turn-1" });
    expect(all.at(-1)).toMatchObject({ type: "finish", messageMetadata: { status: "open" } });
    for (let index = 0; index < all.length; index += 7) {
      expect(await chunksFrom(chat, stream, index)).toEqual(all.slice(index));
    }
    expect(await chunksFrom(chat, stream.split(".")[0] ?? "", 0)).toEqual(all);
  });

  it("gives a reloaded page the messages before the last answer, and the answer as a stream", async () => {
    const chat = opened();
    const first = [user("u1", "pay it")];
    const waiting = await turn(chat, first);
    const part = toolOf(waiting, "tool-pay") as unknown as { approval: { id: string } };
    Object.assign(part, { state: "approval-responded", approval: { ...part.approval, approved: true } });
    const paid = await turn(chat, [...first, waiting]);
    const second = [...first, paid, user("u2", "thanks")];
    const answer = await turn(chat, second);
    const history = (await (await chat.ask(CHAT_API)).json()) as { messages: UIMessage[] };
    expect(history.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    // The page's own message, as the AI SDK made it of the same chunks.
    const shown = history.messages[1] as UIMessage;
    expect(shown.parts).toEqual(JSON.parse(JSON.stringify(paid.parts)));
    const resumed = await chat.transport.reconnectToStream({ chatId: "c1" });
    expect(resumed).not.toBeNull();
    expect(await messageOf(resumed as ReadableStream<UIMessageChunk>)).toEqual(answer);
  });

  it("gives a reloaded page a message that joined the turn under way", async () => {
    const chat = opened();
    const { harness, agent } = chat;
    const first = { agent, input: "hello", tenant: "local", idempotencyKey: "chat-c1" };
    const started = await startRun(harness.world, first);
    if (started.kind !== "started") throw new Error(started.kind);
    const { run } = started.row;
    await send(harness.world, { run, id: "u2", text: "and more", by: "ann@host" });
    await harness.runUntilIdle(agent);
    const { messages } = (await (await chat.ask(CHAT_API)).json()) as { messages: UIMessage[] };
    expect(messages.map(({ id, role }) => ({ id, role }))).toEqual([
      { id: "task", role: "user" },
      { id: "u2", role: "user" },
    ]);
  });

  it("ends the message when the run is cancelled", async () => {
    const chat = opened();
    const waiting = await turn(chat, [user("u1", "pay it")]);
    const run = streamIn(chat).split(".")[0] ?? "";
    await sendRequest(chat.harness.world, { run, want: "cancel" });
    const resumed = await chat.transport.reconnectToStream({ chatId: "c1" });
    const message = await messageOf(resumed as ReadableStream<UIMessageChunk>);
    expect(message.metadata).toMatchObject({ run, status: "waiting" });
    expect(waiting.metadata).toMatchObject({ status: "waiting" });
    await chat.harness.runUntilIdle(chat.agent);
    const after = await chunksFrom(chat, run, 0);
    expect(after.slice(-2)).toMatchObject([
      { type: "abort" },
      { type: "finish", messageMetadata: { status: "cancelled" } },
    ]);
  });

  it("ends a stream that follows what the log of an ended run lacks", async () => {
    const chat = opened();
    await turn(chat, [user("u1", "pay it")]);
    const run = streamIn(chat).split(".")[0] ?? "";
    await sendRequest(chat.harness.world, { run, want: "cancel" });
    await chat.harness.runUntilIdle(chat.agent);
    const chunks = await chunksFrom(chat, `${run}.nothing`, 0);
    expect(chunks.map(({ type }) => type)).toEqual(["start", "error", "finish"]);
  });

  it("opens no stream for a request that reads none, and takes JSON only", async () => {
    const chat = opened();
    await turn(chat, [user("u1", "pay it")]);
    const run = streamIn(chat).split(".")[0] ?? "";
    expect((await chat.ask(`http://${CHAT_HOST}/runs/${run}/stream`, { method: "HEAD" })).status).toBe(405);
    const headers = { accept: "text/event-stream" };
    expect((await chat.ask(`http://${CHAT_HOST}/runs/${run}/events`, { method: "HEAD", headers })).status).toBe(200);
    const body = JSON.stringify({ messages: [user("u2", "and this")] });
    expect((await chat.ask(CHAT_API, { method: "POST", body })).status).toBe(415);
  });

  it.each([
    [{ messages: [] }, 422],
    [{ messages: [{ id: "a b", role: "user", parts: [{ type: "text", text: "x" }] }] }, 422],
    [{ messages: [{ id: "a", role: "user", parts: [{ type: "file", url: "data:," }] }] }, 415],
    [{ messages: [{ id: "a", role: "assistant", parts: [] }] }, 422],
    ["text", 422],
  ])("refuses %j", async (body, status) => {
    const { ask } = opened();
    const headers = { "content-type": "application/json" };
    expect((await ask(CHAT_API, { method: "POST", body: JSON.stringify(body), headers })).status).toBe(status);
  });

  it("knows no run of a chat that has not begun", async () => {
    const { ask } = opened();
    expect(await (await ask(CHAT_API)).json()).toEqual({ run: null, messages: [] });
    expect((await ask(`${CHAT_API}/c1/stream?startIndex=0`)).status).toBe(404);
    expect((await ask(`http://${CHAT_HOST}/chat/nobody/c1`)).status).toBe(200);
  });
});
