/** The schemas of the chat protocols: of the AI SDK's `useChat` and of AG-UI, as far as cairn reads and writes them. */
import { z } from "@hono/zod-openapi";

/** Names a chat, and as a part of it the idempotency key of its run. Also what names a message. */
export const CHAT = /^[\w-]{1,64}$/;

const agent = z.string().openapi({ description: "The name of an agent with `chat`.", example: "support" });
const chat = z.string().openapi({
  description: "The name of the chat, of the client's choice.",
  pattern: CHAT.source,
  example: "order-7",
});

export const agentParams = z.object({ agent });
export const chatParams = z.object({ agent, chat });
export const streamParams = z.object({
  agent,
  chat,
  stream: z.string().openapi({
    description: "The `x-workflow-run-id` of an answer, or the name of the chat for its last answer.",
  }),
});

export const streamQuery = z.object({
  startIndex: z.string().optional().openapi({
    description: "The index of the first chunk to send. Everything else than a whole number counts as 0.",
  }),
});

const uiPart = z.object({ type: z.string() }).loose();

const uiMessage = z
  .object({
    id: z.string(),
    role: z.enum(["user", "assistant"]),
    parts: z.array(uiPart),
    metadata: z.unknown().optional(),
  })
  .openapi("UiMessage", { description: "A `UIMessage` of the AI SDK." });

export const historyDocument = z
  .object({
    run: z.string().nullable().openapi({ description: "The id of the run; null where the chat has not begun." }),
    messages: z.array(uiMessage),
  })
  .openapi("ChatHistory");

export const chatBody = z
  .object({
    messages: z.array(uiMessage).min(1).openapi({
      description:
        "The one that `messageId` names counts, or the last one. Of a user: its text, under an id of 1 to 64 letters, digits, `-` and `_`. Of the assistant: the decisions in parts of the state `approval-responded`, of any message, and the outputs of calls that ask a human.",
    }),
    trigger: z.enum(["submit-message", "regenerate-message"]).optional().openapi({
      description: "`regenerate-message`: the page took back an answer. The stream says that it stands.",
    }),
    messageId: z.string().optional().openapi({
      description: "The message that the page changed (of a user), or whose calls it decides (of the assistant).",
    }),
  })
  .loose()
  .openapi("ChatTurn");

/** The data of a server-sent event, as the document says it: JSON with a `type`. */
const EVENT = {
  contentMediaType: "application/json",
  contentSchema: { type: "object", required: ["type"], properties: { type: { type: "string" } } },
};

const eventWith = (description: string) => z.object({ data: z.string().openapi({ description, ...EVENT }) });

export const uiEvent = eventWith("A chunk of the AI SDK's UI message stream.");
export const agUiEvent = eventWith("An event of AG-UI.");

const resumed = z.object({
  interruptId: z.string(),
  status: z.enum(["resolved", "cancelled"]),
  payload: z.unknown().optional().openapi({
    description: "Of an approval: `{ approved, reason, editedArgs }`. Of a question: the answer.",
  }),
});

export const agUiBody = z
  .object({
    threadId: z.string().openapi({ description: "The name of the chat.", pattern: CHAT.source }),
    runId: z.string().min(1).max(128),
    messages: z
      .array(z.object({ id: z.string(), role: z.string() }).loose())
      .openapi({ description: "The last message of the user counts, and it holds text only." }),
    resume: z.array(resumed).optional().openapi({ description: "Decisions about interrupts." }),
  })
  .loose()
  .openapi("RunAgentInput", { description: "The input of an AG-UI run. Other fields have no effect." });
