/** What a page sends by itself. */
import { type UIMessage, isToolUIPart } from "ai";

/**
 * Whether the page has a decision or an answer that the server does not have, in any message: a user may write before a
 * call is decided. Or whether the run went on in the last message, which the page does not show yet.
 */
export function hasToSend({ messages }: { readonly messages: readonly UIMessage[] }): boolean {
  const last = messages.at(-1);
  const isBehind = last?.role === "assistant" && last.parts.length === 0;
  return messages.some(
    (message) => isToldHere(message) || (isBehind && metadataOf(message).version > metadataOf(last).version),
  );
}

/** The message waits for a human at the server, and not in the page. */
function isToldHere(message: UIMessage): boolean {
  const { waits } = metadataOf(message);
  return message.parts.some((part) => {
    if (!isToolUIPart(part)) return false;
    if (part.state === "approval-responded") return waits.includes(part.approval.id);
    return part.state === "output-available" && waits.includes(part.toolCallId);
  });
}

/** What the server says with each message: the version of the run that it shows, and what waits for a human in it. */
function metadataOf({ metadata }: UIMessage): { readonly version: number; readonly waits: readonly string[] } {
  return { version: 0, waits: [], ...(metadata as object | undefined) };
}
