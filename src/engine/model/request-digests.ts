/**
 * What a model was asked, by digests. They are kept with every reply, so that a later version of an agent can be held
 * against a recorded run: which is the first request that it would make differently, and what of it is different.
 *
 * A request is instructions, tools and the transcript as the model reads it. The transcript grows with every beat, so it is
 * digested message by message, each once as long as its process lives, and a beat pays for what is new.
 */
import { createHash } from "node:crypto";
import { canonical, sha256 } from "../../codec/canonical.ts";
import type { EventOf } from "../../core/event.ts";
import type { Message } from "../../core/message.ts";
import type { Agent, Tool } from "../../ports/agent.ts";
import { promptOf } from "./prompt.ts";
import { describeTools } from "./tool-schema.ts";

export type RequestDigests = NonNullable<EventOf<"ModelCallCompleted">["request"]>;

/** The first characters of a digest: enough to tell versions of one agent apart. */
const TEXT_CHARACTERS = 16;
const NAME_CHARACTERS = 4;
const TOOL_CHARACTERS = 8;

export const requestDigests = (
  { instructions, tools }: Pick<Agent, "instructions" | "tools">,
  messages: readonly Message[],
): RequestDigests => ({
  instructions: sha256(instructions).slice(0, TEXT_CHARACTERS),
  tools: Object.entries(tools).map(([name, tool]) => `${nameDigest(name)}${toolDigest(name, tool)}`),
  messages: transcriptDigest(messages).slice(0, TEXT_CHARACTERS),
});

/** Of the name of a tool; what follows it in a request is of the tool as the model sees it. */
export const nameDigest = (name: string): string => sha256(name).slice(0, NAME_CHARACTERS);

// Tools and messages never change, so what was digested of them once stays true as long as they live.
const knownTools = new WeakMap<Tool, { readonly name: string; readonly digest: string }>();
const knownMessages = new WeakMap<Message, Uint8Array>();

function toolDigest(name: string, tool: Tool): string {
  const known = knownTools.get(tool);
  if (known?.name === name) return known.digest;
  const digest = sha256(asText(describeTools({ [name]: tool }))).slice(0, TOOL_CHARACTERS);
  knownTools.set(tool, { name, digest });
  return digest;
}

/** Half a character in a description has no canonical form; a digest is not worth a beat. */
function asText(described: unknown): string {
  try {
    return canonical(described);
  } catch {
    return JSON.stringify(described);
  }
}

function transcriptDigest(messages: readonly Message[]): string {
  const hash = createHash("sha256");
  for (const message of messages) hash.update(messageDigest(message));
  return hash.digest("hex");
}

/** As the model reads it, by itself: what a model is told of one message depends on no other. */
function messageDigest(message: Message): Uint8Array {
  const known = knownMessages.get(message);
  if (known !== undefined) return known;
  const digest = createHash("sha256")
    .update(asText(promptOf("", [message])))
    .digest();
  knownMessages.set(message, digest);
  return digest;
}
