/** A user who does not wait: decisions about earlier messages, changes of what was said, and other answers. */
import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import type { Chat } from "@ai-sdk/react";
import { askHuman, tool } from "../../../src/index.ts";
import { z } from "zod";
import { decide } from "../../../src/operations/decide.ts";
import { waitUntil } from "../../support/gate/safety.ts";
import { CHAT_API, CHAT_HOST, type ChatServer, loadChatPage, openChatServer } from "../../support/harness/chat-page.ts";

type Page = Chat<UIMessage>;

/** What the page shows, message by message: texts, and calls with their state. */
const shown = ({ messages }: { readonly messages: readonly UIMessage[] }): readonly string[] =>
  messages.map(({ role, parts }) => {
    const words = parts.flatMap((part) => {
      if (part.type === "text") return [part.text];
      return part.type.startsWith("tool-") ? [`${part.type} ${(part as { state: string }).state}`] : [];
    });
    return `${role}: ${words.join(", ")}`;
  });

/** The gate of the call in the page that waits for a decision. */
function gateIn({ messages }: Page): string {
  const parts = messages.flatMap((message) => message.parts) as { state?: string; approval?: { id: string } }[];
  const asked = parts.find(({ state }) => state === "approval-requested");
  if (asked?.approval === undefined) throw new Error("no part asks for an approval");
  return asked.approval.id;
}

/** The history that the server gives, and what it streams behind it. */
async function reloaded(server: ChatServer): Promise<Page> {
  const page = await loadChatPage(server);
  expect(page.error).toBeUndefined();
  return page;
}

const PAID = [
  "user: pay it",
  "assistant: tool-pay output-available",
  "user: and hello",
  "assistant: You said: and hello",
];

describe("a decision about an earlier message", () => {
  it.each([
    { approved: true, state: "output-available" },
    { approved: false, state: "output-denied" },
  ])("changes the message that shows its call, approved=$approved", async ({ approved, state }) => {
    const server = openChatServer();
    const page = await loadChatPage(server);
    await page.sendMessage({ text: "pay it" });
    await page.sendMessage({ text: "and hello" });
    expect(shown(page)).toEqual([
      ...["user: pay it", "assistant: tool-pay approval-requested", "user: and hello", "assistant: "],
    ]);
    await page.addToolApprovalResponse({ id: gateIn(page), approved });
    const whole = [PAID[0], `assistant: tool-pay ${state}`, ...PAID.slice(2)];
    await waitUntil(() =>
      expect({ status: page.status, shown: shown(page) }).toEqual({ status: "ready", shown: whole }),
    );
    expect(page.error).toBeUndefined();
    expect(shown(await reloaded(server))).toEqual(whole);
  });

  it("reaches a page that is loaded again before the decision, and one that shows the old buttons", async () => {
    const server = openChatServer();
    const page = await loadChatPage(server);
    await page.sendMessage({ text: "pay it" });
    await page.sendMessage({ text: "and hello" });
    const second = await reloaded(server);
    const old = await reloaded(server);
    await second.addToolApprovalResponse({ id: gateIn(second), approved: true });
    await waitUntil(() => expect(shown(second)).toEqual(PAID));
    // Another decision in a page that has not seen the first one: the first one counts, and the page says so.
    await old.addToolApprovalResponse({ id: gateIn(old), approved: false });
    await waitUntil(() => expect(old.error?.message).toMatch(/the first one counts/));
    expect(shown(old)).toEqual([...PAID.slice(0, 3), "assistant: "]);
    await old.sendMessage({ text: "more" });
    await waitUntil(() =>
      expect({ status: old.status, last: shown(old).at(-1) }).toEqual({
        status: "ready",
        last: "assistant: You said: more",
      }),
    );
    expect(shown(await reloaded(server))).toEqual([...PAID, "user: more", "assistant: You said: more"]);
  });

  it("shows in history what was decided elsewhere, without buttons that decide nothing", async () => {
    const server = openChatServer();
    const page = await loadChatPage(server);
    await page.sendMessage({ text: "pay it" });
    await page.sendMessage({ text: "and hello" });
    const [, { metadata } = { metadata: null }] = page.messages;
    const { run } = metadata as { readonly run: string };
    const { world } = server.harness;
    const said = { as: "approve", args: null, note: null, by: "boss" } as const;
    const sent = await decide(world, { run, gate: gateIn(page), ...said });
    expect(sent.kind).toBe("accepted");
    await server.harness.runUntilIdle(server.agent);
    expect(shown(await reloaded(server))).toEqual(PAID);
  });

  it("is sent after the answer under way, when it was taken while the page was busy", async () => {
    const server = openChatServer();
    const page = await loadChatPage(server);
    await page.sendMessage({ text: "pay it" });
    const busy = page.sendMessage({ text: "and hello" });
    await page.addToolApprovalResponse({ id: gateIn(page), approved: true });
    await busy;
    await waitUntil(() =>
      expect({ status: page.status, shown: shown(page) }).toEqual({ status: "ready", shown: PAID }),
    );
    expect(page.error).toBeUndefined();
  });

  it("goes on after messages that came one after another, each of which waits", async () => {
    const server = openChatServer();
    const page = await loadChatPage(server);
    await page.sendMessage({ text: "pay it" });
    for (const text of ["one", "two", "three"]) await page.sendMessage({ text });
    await page.addToolApprovalResponse({ id: gateIn(page), approved: true });
    await waitUntil(() =>
      expect({ status: page.status, last: shown(page).at(-1) }).toEqual({
        status: "ready",
        last: "assistant: You said: three",
      }),
    );
    const whole = shown(page).filter((each) => each !== "assistant: ");
    expect(shown(await reloaded(server))).toEqual(whole);
  });

  it("answers a question of an earlier message", async () => {
    const server = openChatServer({
      tools: { ask: askHuman({ answer: z.object({ city: z.string() }) }) },
      reply: ({ messages }) => {
        const tokens = { tokensIn: 1, tokensOut: 1 };
        const last = messages.at(-1);
        if (last?.text === "weather") return { calls: [{ tool: "ask", args: { question: "Which?" } }], ...tokens };
        return { text: `So: ${messages.findLast(({ role }) => role === "user")?.text ?? ""}`, ...tokens };
      },
    });
    const page = await loadChatPage(server);
    await page.sendMessage({ text: "weather" });
    await page.sendMessage({ text: "quick" });
    const part = page.messages[1]?.parts.find(({ type }) => type === "tool-ask") as { toolCallId: string };
    await page.addToolOutput({ tool: "ask", toolCallId: part.toolCallId, output: { city: "Oslo" } });
    const whole = ["user: weather", "assistant: tool-ask output-available", "user: quick", "assistant: So: quick"];
    await waitUntil(() =>
      expect({ status: page.status, shown: shown(page) }).toEqual({ status: "ready", shown: whole }),
    );
    expect(page.error).toBeUndefined();
    expect(shown(await reloaded(server))).toEqual(whole);
  });
});

describe("a page that takes messages back", () => {
  const SAID = ["user: one", "assistant: You said: one", "user: two", "assistant: You said: two"];

  async function begun(): Promise<{ readonly server: ChatServer; readonly page: Page }> {
    const server = openChatServer();
    const page = await loadChatPage(server);
    await page.sendMessage({ text: "one" });
    await page.sendMessage({ text: "two" });
    expect(shown(page)).toEqual(SAID);
    return { server, page };
  }

  it("shows the last answer again, and says that no other one is made", async () => {
    const { server, page } = await begun();
    await page.regenerate();
    expect(page.error?.message).toMatch(/^The answer stands, and no other one is made: .* begin a new chat\.$/);
    expect(shown(page)).toEqual(SAID);
    page.clearError();
    await page.sendMessage({ text: "three" });
    expect(shown(await reloaded(server))).toEqual([...SAID, "user: three", "assistant: You said: three"]);
  });

  it.each([0, 2])("says that the change of message %i was not sent, and the model reads what stands", async (index) => {
    const { server, page } = await begun();
    const messageId = page.messages[index]?.id ?? "";
    await page.sendMessage({ text: "changed", messageId });
    expect(page.error?.message).toMatch(/^The message stands, and its change was not sent: .* Load the page again/);
    expect(shown(await reloaded(server))).toEqual(SAID);
  });

  it("says so for an answer in the middle", async () => {
    const { server, page } = await begun();
    await page.regenerate({ messageId: page.messages[1]?.id ?? "" });
    expect(page.error?.message).toMatch(/^The answer stands/);
    expect(shown(await reloaded(server))).toEqual(SAID);
  });

  it("sends a message again that never came", async () => {
    const server = openChatServer();
    const page = await loadChatPage(server);
    server.loseNext();
    await page.sendMessage({ text: "one" });
    expect(page.status).toBe("error");
    await page.regenerate();
    expect({ status: page.status, shown: shown(page) }).toEqual({ status: "ready", shown: SAID.slice(0, 2) });
    server.loseNext();
    await page.sendMessage({ text: "two" });
    expect(page.status).toBe("error");
    await page.regenerate();
    expect({ status: page.status, shown: shown(page) }).toEqual({ status: "ready", shown: SAID.slice(0, 4) });
  });

  it.each([
    [{ trigger: "restart" }, "#/trigger"],
    [{ messages: [] }, "#/messages"],
  ])("refuses a body with %j", async (fields, pointer) => {
    const server = openChatServer();
    const user = { id: "u1", role: "user", parts: [{ type: "text", text: "x" }] };
    const answer = await server.ask(CHAT_API, {
      ...{ method: "POST", body: JSON.stringify({ messages: [user], ...fields }) },
      headers: { "content-type": "application/json", host: CHAT_HOST },
    });
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 422,
      body: { errors: [{ pointer }] },
    });
  });
});

describe("a user who stops an answer", () => {
  const stop = async ({ ask }: ChatServer): Promise<number> => {
    const headers = { "content-type": "application/json" };
    return (await ask(`${CHAT_API}/stop`, { method: "POST", body: "{}", headers })).status;
  };

  it("ends it where it waits for a decision, and the conversation goes on", async () => {
    const server = openChatServer();
    const page = await loadChatPage(server);
    await page.sendMessage({ text: "pay it" });
    expect(await stop(server)).toBe(202);
    const stopped = ["user: pay it", "assistant: tool-pay output-denied, Stopped."];
    expect(shown(await reloaded(server))).toEqual(stopped);
    await page.sendMessage({ text: "hello" });
    const whole = [...stopped, "user: hello", "assistant: You said: hello"];
    expect(shown(await reloaded(server))).toEqual(whole);
  });

  it("drops an approved call that no worker has begun", async () => {
    const server = openChatServer();
    const page = await loadChatPage(server);
    await page.sendMessage({ text: "pay it" });
    const { world } = server.harness;
    const [, { metadata } = { metadata: null }] = page.messages;
    const { run } = metadata as { readonly run: string };
    const said = { as: "approve", args: null, note: null, by: "boss" } as const;
    expect((await decide(world, { run, gate: gateIn(page), ...said })).kind).toBe("accepted");
    server.harness.clock.moveTo(server.harness.clock.now() + 50);
    expect(await stop(server)).toBe(202);
    await server.harness.runUntilIdle(server.agent);
    expect(shown(await reloaded(server))).toEqual(["user: pay it", "assistant: tool-pay output-denied, Stopped."]);
  });

  it("begins no call of a reply that was under way, and shows the calls that began before", async () => {
    const begun: string[] = [];
    let stopping: Promise<number> | null = null;
    const server: ChatServer = openChatServer({
      tools: { act: tool({ input: z.object({}), effect: "keyed", run: () => begun.push("act") }) },
      reply: async ({ messages }) => {
        const tokens = { tokensIn: 1, tokensOut: 1 };
        const last = messages.at(-1);
        if (last?.role !== "user") return { text: "All is done.", ...tokens };
        if (last.text === "act") await (stopping ??= stop(server));
        return last.text === "act" ? { calls: [{ tool: "act", args: {} }], ...tokens } : { text: "Hello.", ...tokens };
      },
    });
    const page = await loadChatPage(server);
    await page.sendMessage({ text: "act" });
    await server.harness.runUntilIdle(server.agent);
    expect({ begun, error: page.error }).toEqual({ begun: [], error: undefined });
    const stopped = ["user: act", "assistant: tool-act output-error, Stopped."];
    expect(shown(page)).toEqual(stopped);
    await page.sendMessage({ text: "and now" });
    expect(shown(await reloaded(server))).toEqual([...stopped, "user: and now", "assistant: Hello."]);
    expect(begun).toEqual([]);
  });

  it("changes nothing where no answer is under way", async () => {
    const server = openChatServer();
    const page = await loadChatPage(server);
    await page.sendMessage({ text: "one" });
    expect(await stop(server)).toBe(202);
    await page.sendMessage({ text: "two" });
    const whole = ["user: one", "assistant: You said: one", "user: two", "assistant: You said: two"];
    expect(shown(await reloaded(server))).toEqual(whole);
  });
});
