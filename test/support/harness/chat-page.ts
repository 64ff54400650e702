/** A server of a chat agent, and pages of the AI SDK's `useChat` that use it, as the documented set-up has them. */
import { Chat } from "@ai-sdk/react";
import { WorkflowChatTransport } from "@ai-sdk/workflow/client";
import type { ChatTransport, UIMessage } from "ai";
import { createLocalServer } from "../../../src/server/app.ts";
import { SCOPES } from "../../../src/operations/operation.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { hasToSend } from "../../../templates/chat/page/has-to-send.ts";
import { type ChatAgentOptions, chatAgent } from "../agents/chat-agent.ts";
import { type CrashPoint, crashAtCall } from "../faults/crash-at-call.ts";
import { createChainHarness } from "./harness.ts";

export const CHAT_HOST = "127.0.0.1:7420";
export const CHAT_API = `http://${CHAT_HOST}/chat/talker/c1`;

/** `kill`: at which call of its ports the next attempt dies; null: it lives. */
type Kills = () => CrashPoint | null;

export function openChatServer(
  options: ChatAgentOptions & { readonly kill?: Kills } = {},
  others: readonly Agent[] = [],
) {
  const harness = createChainHarness();
  const agent = chatAgent(options);
  const server = createLocalServer({
    world: harness.world,
    agentOf: async (name) => [agent, ...others].find((each) => each.name === name) ?? null,
    agents: async () => ({ agents: [agent], broken: [] }),
    caller: { tenant: "local", actor: "ann@host", scopes: SCOPES },
    login: async () => null,
    firingsOf: () => [],
  });
  const answers: Response[] = [];
  let isLost = false;
  /** The request, and all work of the run that follows from it. */
  const ask = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    if (isLost) {
      isLost = false;
      throw new Error("the request is lost");
    }
    const headers = new Headers(init.headers);
    headers.set("host", CHAT_HOST);
    const response = await server.fetch(new Request(input, { ...init, headers }));
    const crash = options.kill?.() ?? null;
    const next = harness.world.chain.next();
    if (crash !== null && next !== null && next <= harness.clock.now()) {
      const out = harness.startAttempt();
      const dying = crashAtCall(harness.world, crash);
      await dying.survives((world) => out.perform({ world, agent: [agent, ...others] }));
      // The answer of a task that survived is lost.
      out.end(null);
    }
    await harness.runUntilIdle([agent, ...others]);
    answers.push(response);
    return response;
  };
  // The transport brings a version of `ai` of its own, with types of its own.
  const transport = new WorkflowChatTransport({
    ...{ api: CHAT_API, fetch: ask },
    prepareSendMessagesRequest: ({ messages, trigger, messageId }) => ({
      body: { messages, trigger, messageId },
      headers: { "content-type": "application/json" },
    }),
  }) as unknown as ChatTransport<UIMessage>;
  /** The next request never reaches the server. */
  const loseNext = (): void => void (isLost = true);
  return { harness, agent, ask, transport, answers, loseNext };
}

export type ChatServer = ReturnType<typeof openChatServer>;

/** The page as it is loaded: what the server has of the chat, and the last answer as it comes. */
export async function loadChatPage({
  ask,
  transport,
}: Pick<ChatServer, "ask" | "transport">): Promise<Chat<UIMessage>> {
  const { messages } = (await (await ask(CHAT_API)).json()) as { readonly messages: UIMessage[] };
  const page = new Chat<UIMessage>({ id: "c1", transport, messages, sendAutomaticallyWhen: hasToSend });
  if (messages.length > 0) await page.resumeStream();
  return page;
}
