/**
 * A model that replays a recorded run: it gives every request the recorded reply, at once and without a network. Like
 * any scripted model it is a function of the conversation: its length selects the next reply. So a crash or a change of
 * process makes no difference.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Archive, readArchive } from "../codec/archive.ts";
import { Unreadable } from "../codec/canonical.ts";
import type { EventOf } from "../core/event.ts";
import type { FileRef } from "../core/file.ts";
import type { Json } from "../core/json.ts";
import type { Value } from "../core/message.ts";
import { summarisedCall } from "../features/result-summaries/core.ts";
import { KERNEL } from "../features/compose.ts";
import { promptOf } from "../engine/model/prompt.ts";
import { type ScriptedReply, scriptedModel } from "./scripted.ts";

/**
 * The model that replays `exported`, the bytes of a file from `cairn export`. If a conversation has a length that was not
 * recorded, the model call fails and says so.
 *
 * @example
 *   export const rehearsal = { ...travel, name: "rehearsal", model: recordedModel(readFileSync("RUN.jsonl.gz")) };
 *
 * @throws Unreadable if the file is not a complete export
 */
export function recordedModel(exported: Uint8Array): LanguageModelV4 {
  const archive = readArchive(exported);
  const replies = repliesIn(archive);
  const name = `recorded-${archive.run.run}`;
  return scriptedModel({
    name,
    reply: ({ messages }) => {
      const { length } = messages;
      const call = summarisedCall(messages.at(-1)?.text ?? "");
      const reply = replies.get(call ?? length);
      if (reply === undefined) throw new Error(`${name} has no reply to a conversation of ${length} messages`);
      return reply;
    },
  });
}

/**
 * The recorded replies by the length of the conversation before them, in messages of the prompt. Summaries of results by
 * the ID of their call.
 */
function repliesIn(archive: Archive): ReadonlyMap<number | string, ScriptedReply> {
  const { begun, commits, run } = archive;
  if (begun === undefined)
    throw new Unreadable(
      `the archive of run ${run.run} is not an export and cannot be replayed: write one with cairn export`,
      "NotExported",
    );
  const replies = new Map<number | string, ScriptedReply>();
  let { state } = begun;
  for (const event of commits.flatMap(({ events }) => events)) {
    if (event.kind === "ModelCallCompleted") {
      replies.set(promptOf("", state.messages).length, scriptedReply(event, archive));
    }
    if (event.kind === "ResultSummarised") {
      const { call, summary, failed, tokens } = event;
      // The line before the summary is made anew, and an empty reply makes no summary.
      replies.set(call, { text: failed === true ? "" : summary.slice(summary.indexOf("\n") + 1), tokensOut: tokens });
    }
    // A file has no world whose kernel it could ask.
    state = KERNEL.fold(state, event);
  }
  return replies;
}

function scriptedReply(event: EventOf<"ModelCallCompleted">, archive: Archive): ScriptedReply {
  const { parts, cut, tokensIn, tokensOut } = event;
  const text = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");
  const calls = parts.flatMap((part) =>
    part.kind === "call" ? [{ tool: part.tool, args: recordedJson(archive, part.args) }] : [],
  );
  const files = parts.flatMap((part) =>
    part.kind === "file" ? [{ bytes: bytesIn(archive, part), mediaType: part.mediaType }] : [],
  );
  if (cut !== undefined) {
    // The calls of a cut reply are not recorded, and none of them runs.
    const dropped = Array.from({ length: cut.calls }, () => ({ tool: "cut", args: {} }));
    return { text, calls: dropped, cutBy: cut.limit, tokensIn, tokensOut };
  }
  return { text, calls, ...(files.length > 0 && { files }), tokensIn, tokensOut };
}

/** The bytes of a recorded file. Throws `Unreadable` if the export left it out. */
function bytesIn({ files }: Archive, { file }: FileRef): Uint8Array {
  const bytes = files.get(file);
  if (bytes === undefined) throw new Unreadable(`the export does not contain file ${file}`);
  return bytes;
}

/** The JSON of a recorded value. Throws `Unreadable` if the export left it out. */
export function recordedJson({ blobs }: Archive, value: Value): Json {
  if (value.kind === "inline") return value.json;
  const json = blobs.get(value.sha256);
  if (json === undefined) throw new Unreadable(`the export does not contain a large value, blob ${value.sha256}`);
  return json;
}
