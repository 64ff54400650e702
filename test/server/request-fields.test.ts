/** Each field of each request of the chat protocols is used, refused, or listed as ignored: none is dropped in silence. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type {
  CancelTaskRequest,
  GetTaskRequest,
  Message,
  SendMessageConfiguration,
  SendMessageRequest,
  SubscribeToTaskRequest,
} from "@a2a-js/sdk";
import type { ChatTransport, UIMessage } from "ai";
import { expect, it } from "vitest";

type Fate = "used" | "refused" | "ignored";
/** The compiler asks for each field of the installed type, and for no other. */
type Fates<T> = { readonly [K in keyof Required<T>]: Fate };

const page = (name: string): string => readFileSync(join(import.meta.dirname, "..", "..", "docs", name), "utf8");

const USE_CHAT: Fates<Parameters<ChatTransport<UIMessage>["sendMessages"]>[0]> = {
  ...({ messages: "used", trigger: "used", messageId: "used" } as const),
  ...({ chatId: "ignored", metadata: "ignored", body: "ignored" } as const),
  // They are of the transport: the first are those of the HTTP request.
  ...({ headers: "used", abortSignal: "used" } as const),
};
const UI_MESSAGE: Fates<UIMessage> = { id: "used", role: "used", parts: "used", metadata: "ignored" };

const A2A: Fates<
  SendMessageRequest & SendMessageConfiguration & Message & GetTaskRequest & CancelTaskRequest & SubscribeToTaskRequest
> = {
  ...({ message: "used", configuration: "used", messageId: "used", taskId: "used", contextId: "used" } as const),
  ...({ parts: "used", id: "used", returnImmediately: "used" } as const),
  ...({ taskPushNotificationConfig: "refused", role: "refused" } as const),
  ...({ tenant: "ignored", metadata: "ignored", acceptedOutputModes: "ignored", historyLength: "ignored" } as const),
  ...({ extensions: "ignored", referenceTaskIds: "ignored" } as const),
};

const AG_UI: Readonly<Record<string, Fate>> = {
  ...({ threadId: "used", runId: "used", messages: "used", resume: "used" } as const),
  ...({ state: "ignored", tools: "ignored", context: "ignored", forwardedProps: "ignored" } as const),
  ...({ parentRunId: "ignored", protocolVersion: "ignored" } as const),
};
const AG_UI_MESSAGE: Readonly<Record<string, Fate>> = {
  ...({ id: "used", role: "used", content: "used" } as const),
  ...({ name: "ignored", encryptedValue: "ignored", metadata: "ignored", subagentRunId: "ignored" } as const),
};
const AG_UI_RESUME: Readonly<Record<string, Fate>> = {
  ...({ interruptId: "used", status: "used", payload: "used", metadata: "ignored" } as const),
};

type Schemas = Readonly<Record<string, { readonly shape: object }>>;
/** Those that the installed client itself uses. */
const schemas = createRequire(createRequire(import.meta.url).resolve("@ag-ui/client"))(
  "@ag-ui/core/schemas",
) as Schemas;

it.each([
  ["chat.md", USE_CHAT],
  ["chat.md", UI_MESSAGE],
  ["chat.md", AG_UI],
  ["chat.md", AG_UI_MESSAGE],
  ["chat.md", AG_UI_RESUME],
  ["a2a.md", A2A],
])("%s names each field of %j", (name, fates) => {
  const text = page(name);
  for (const field of Object.keys(fates)) expect(text, field).toContain(`\`${field}\``);
});

it.each([
  ["RunAgentInputSchema", AG_UI],
  ["UserMessageSchema", AG_UI_MESSAGE],
  ["ResumeEntrySchema", AG_UI_RESUME],
])("knows each field of the installed %s of AG-UI", (name, fates) => {
  expect(Object.keys(fates).toSorted()).toEqual(Object.keys(schemas[name]?.shape ?? {}).toSorted());
});
