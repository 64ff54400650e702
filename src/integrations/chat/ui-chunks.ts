/** The chunks of the AI SDK's UI message stream that cairn sends, and how values of a run become parts of a message. */
import type { EventOf } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import type { FileRef } from "../../core/file.ts";
import type { Value } from "../../core/message.ts";
import type { ProposedCall } from "../../core/calls/proposed-calls.ts";
import { NEXT_MESSAGE } from "../../core/calls/next-message.ts";

/** One chunk, as `uiMessageChunkSchema` of the package `ai` describes it (`test/integrations/chat/ui-chat.test.ts` checks each). */
export type UiChunk = { readonly type: string } & Readonly<Record<string, Json>>;

/**
 * How many chunks a reply leaves free for what its model says before the reply is committed (ADR 0094). With them the
 * index of each committed chunk depends on the log alone, whatever a reader was shown before.
 */
export const LIVE_CHUNKS = 32;

/** A chunk that changes nothing, in the place of a live one. */
export const IDLE_CHUNK: UiChunk = { type: "message-metadata", messageMetadata: null };

/** The chunks of a reply up to its calls: its step begins, live chunks, and then the reply as it is committed. */
export function replyChunks(
  { parts }: Pick<EventOf<"ModelCallCompleted">, "parts">,
  { run, version, calls }: { readonly run: string; readonly version: number; readonly calls: readonly ProposedCall[] },
): readonly UiChunk[] {
  const said = parts.flatMap((part, index): readonly UiChunk[] => {
    const id = `${version}.${index}`;
    if (part.kind === "text") return block("text", id, part.text);
    if (part.kind === "reasoning") return block("reasoning", id, part.text);
    return part.kind === "file" ? [fileChunk(run, part)] : [];
  });
  const asked = calls
    .filter(({ tool }) => tool !== NEXT_MESSAGE)
    .map(({ call, tool, args }): UiChunk => ({
      type: "tool-input-available",
      toolCallId: call,
      toolName: tool,
      input: shownJson(args),
    }));
  const live = Array.from({ length: LIVE_CHUNKS }, () => IDLE_CHUNK);
  return [{ type: "start-step" }, ...live, { type: "reset-step" }, ...said, ...asked];
}

const block = (kind: "text" | "reasoning", id: string, text: string): readonly UiChunk[] => [
  { type: `${kind}-start`, id },
  { type: `${kind}-delta`, id, delta: text },
  { type: `${kind}-end`, id },
];

const fileChunk = (run: string, { file, mediaType }: FileRef): UiChunk => ({
  type: "file",
  url: `/runs/${run}/files/${file}`,
  mediaType,
});

/** A value as JSON; of one that is stored apart, its beginning. */
export const shownJson = (value: Value): Json =>
  value.kind === "inline" ? value.json : { shortened: `${value.head} … ${value.tail}`, bytes: value.bytes };

/** The value in words, for an error. */
export function shownText(value: Value): string {
  const json = shownJson(value);
  return typeof json === "string" ? json : JSON.stringify(json);
}
