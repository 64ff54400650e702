/** The finished messages of a conversation, as the AI SDK's `UIMessage`s: what a page begins with before it streams. */
import type { Json } from "../../core/json.ts";
import type { UiChunk } from "./ui-chunks.ts";

type Part = { type: string } & Record<string, Json>;

export interface UiMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly Part[];
  readonly metadata?: Json;
}

export const userMessage = (id: string, text: string): UiMessage => ({
  id,
  role: "user",
  parts: [{ type: "text", text }],
});

/** The message that a client makes of these chunks of one turn (compared with `readUIMessageStream` in its test). */
export function assistantMessage(chunks: readonly UiChunk[]): UiMessage {
  const parts: Part[] = [];
  let id = "";
  let metadata: Json = null;
  const byCall = new Map<Json, Part>();
  const blocks = new Map<Json, Part>();
  for (const chunk of chunks) {
    const { type } = chunk;
    if (type === "start") id = textIn(chunk["messageId"]);
    if (chunk["messageMetadata"] !== undefined) metadata = chunk["messageMetadata"] ?? metadata;
    if (type === "start-step") parts.push({ type: "step-start" });
    if (type === "reset-step") parts.length = parts.findLastIndex((part) => part.type === "step-start") + 1;
    if (type === "text-start" || type === "reasoning-start") {
      const part: Part = { type: type === "text-start" ? "text" : "reasoning", text: "", state: "streaming" };
      if (type === "reasoning-start") part["id"] = chunk["id"] ?? "";
      parts.push(part);
      blocks.set(chunk["id"] ?? "", part);
    }
    const block = blocks.get(chunk["id"] ?? "");
    if (type.endsWith("-delta") && block !== undefined)
      block["text"] = `${textIn(block["text"])}${textIn(chunk["delta"])}`;
    if (type.endsWith("-end") && block !== undefined) block["state"] = "done";
    if (type === "file") parts.push({ ...chunk });
    if (type === "tool-input-available") {
      const part = toolPart(chunk);
      parts.push(part);
      byCall.set(chunk["toolCallId"] ?? "", part);
    }
    const part =
      type === "tool-approval-response"
        ? parts.find((each) => approvalId(each) === chunk["approvalId"])
        : byCall.get(chunk["toolCallId"] ?? "");
    if (part !== undefined) Object.assign(part, changeBy(chunk, part));
  }
  return { id, role: "assistant", ...(metadata === null ? {} : { metadata }), parts };
}

const textIn = (json: Json | undefined): string => (typeof json === "string" ? json : "");

const approvalId = ({ approval }: Part): Json | undefined => (approval as { id?: Json } | undefined)?.id;

const toolPart = ({ toolCallId = "", toolName = "", input = null }: UiChunk): Part => ({
  type: `tool-${textIn(toolName)}`,
  toolCallId,
  state: "input-available",
  input,
});

function changeBy(chunk: UiChunk, part: Part): Record<string, Json> {
  const { type, approvalId: id = "", approved = false, reason } = chunk;
  const approval = (part["approval"] ?? {}) as Record<string, Json>;
  switch (type) {
    case "tool-approval-request":
      return {
        state: "approval-requested",
        approval: { id, ...(reason === undefined ? {} : { requestReason: reason }) },
      };
    case "tool-approval-response":
      return {
        state: "approval-responded",
        approval: { ...approval, id, approved, ...(reason === undefined ? {} : { reason }) },
      };
    case "tool-output-denied":
      return { state: "output-denied" };
    case "tool-output-available":
      return { state: "output-available", output: chunk["output"] ?? null };
    case "tool-output-error":
      return { state: "output-error", errorText: chunk["errorText"] ?? "" };
    default:
      return {};
  }
}
