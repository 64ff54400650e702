/**
 * A recorded run as a model: it answers every request as it was answered then, at once and without a network. Like any
 * scripted model it is a function of the conversation, so a crash or another process changes nothing: how far the
 * conversation has come says which reply is next.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Archive, readArchive } from "../codec/archive.ts";
import { Unreadable } from "../codec/canonical.ts";
import type { EventOf } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import type { Value } from "../core/message.ts";
import { fold } from "../core/transition.ts";
import { promptOf } from "../engine/model/prompt.ts";
import { type ScriptedReply, scriptedModel } from "./scripted.ts";

/**
 * `exported` is what `cairn export` wrote. Throws `Unreadable` where that is no whole export. A conversation that goes
 * further than the recorded one, or comes to another length, gets no reply: the call fails, and says so.
 */
export function recordedModel(exported: Uint8Array): LanguageModelV4 {
  const archive = readArchive(exported);
  const replies = repliesIn(archive);
  const name = `recorded-${archive.run.run}`;
  return scriptedModel({
    name,
    reply: ({ messages: { length } }) => {
      const reply = replies.get(length);
      if (reply === undefined) throw new Error(`${name} has no reply to a conversation of ${length} messages`);
      return reply;
    },
  });
}

/** By the length of the conversation that each was the answer to, as a model counts its messages. */
function repliesIn(archive: Archive): ReadonlyMap<number, ScriptedReply> {
  const { begun, commits, run } = archive;
  if (begun === undefined)
    throw new Unreadable(`the archive of run ${run.run} is no export: it cannot be replayed`, "NotExported");
  const replies = new Map<number, ScriptedReply>();
  let { state } = begun;
  for (const event of commits.flatMap(({ events }) => events)) {
    if (event.kind === "ModelCallCompleted") {
      replies.set(promptOf("", state.messages).length, scriptedReply(event, archive));
    }
    state = fold(state, event);
  }
  return replies;
}

function scriptedReply({ parts, tokensIn, tokensOut }: EventOf<"ModelCallCompleted">, archive: Archive): ScriptedReply {
  const text = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");
  const calls = parts.flatMap((part) =>
    part.kind === "call" ? [{ tool: part.tool, args: jsonIn(archive, part.args) }] : [],
  );
  return { text, calls, tokensIn, tokensOut };
}

function jsonIn({ blobs }: Archive, value: Value): Json {
  if (value.kind === "inline") return value.json;
  const json = blobs.get(value.sha256);
  if (json === undefined) throw new Unreadable(`the export left out large arguments of a call, blob ${value.sha256}`);
  return json;
}
