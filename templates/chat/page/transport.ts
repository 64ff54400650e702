/** How the page reaches the agent: the routes `/chat/{agent}/{chat}` of cairn's server. */
import { WorkflowChatTransport } from "@ai-sdk/workflow/client";
import type { ChatTransport, UIMessage } from "ai";

/** Reads the messages before the last answer, and returns the transport that streams it and what follows. */
export async function openChat(api: string): Promise<{ before: UIMessage[]; transport: ChatTransport<UIMessage> }> {
  const transport = new WorkflowChatTransport({
    ...{ api, fetch: patientFetch },
    // The server takes JSON only, and the transport names no type by itself.
    prepareSendMessagesRequest: ({ messages, trigger, messageId }) => ({
      body: { messages, trigger, messageId },
      headers: { "content-type": "application/json" },
    }),
  });
  const { messages: before } = (await (await patientFetch(api)).json()) as { readonly messages: UIMessage[] };
  // The package of the transport has types of its own for the same messages.
  return { before, transport: transport as unknown as ChatTransport<UIMessage> };
}

/** Ends the answer under way. Its stream then ends with what the agent did. The request outlives the page. */
export const endAnswer = (api: string): Promise<Response> =>
  patientFetch(`${api}/stop`, {
    method: "POST",
    body: "{}",
    keepalive: true,
    headers: { "content-type": "application/json" },
  });

const TRIES = 60;
const PAUSE_MS = 1_000;

/** Waits for a server that is starting again. Each request may be sent twice, since it has one effect. */
const patientFetch: typeof fetch = async (input, init) => {
  for (let tries = 1; ; tries += 1) {
    const isLast = tries === TRIES || init?.signal?.aborted === true;
    const response = await fetch(input, init).catch((error: unknown) => {
      if (isLast) throw error;
      return null;
    });
    if (response !== null && (response.status < 500 || isLast)) return response;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
};
