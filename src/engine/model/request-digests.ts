/**
 * Digests of model requests, recorded with every reply. With them a later version of an agent can be compared with a
 * recorded run. The comparison shows the first request that the new version would make differently, and which part
 * differs.
 *
 * A request consists of instructions, options, tools and transcript. The transcript grows with every beat, so a process extends
 * the digest of the last request by the new messages.
 */
import { createHash } from "node:crypto";
import { canonical, sha256 } from "../../codec/canonical.ts";
import { prefixMemo } from "../../codec/prefix-memo.ts";
import type { Message } from "../../core/message.ts";
import type { RequestDigests } from "../../core/request-digests.ts";
import type { Agent, Tool } from "../../ports/agent.ts";
import { promptOfMessage } from "./prompt.ts";
import { responseFormatOf } from "./response-format.ts";
import { describeTools } from "./tool-schema.ts";

/** What an agent says about the answers of its model. */
type Answering = Partial<Pick<Agent, "modelOptions" | "output" | "topology">>;

/** How many characters of a digest are kept: enough to tell versions of one agent apart. */
const TEXT_CHARACTERS = 16;
const NAME_CHARACTERS = 4;
const TOOL_CHARACTERS = 8;

/** The digests of one request. */
export const requestDigests = (
  agent: Pick<Agent, "instructions" | "tools"> & Answering,
  messages: readonly Message[],
): RequestDigests => ({
  instructions: sha256(agent.instructions).slice(0, TEXT_CHARACTERS),
  ...optionsDigest(agent),
  tools: Object.entries(agent.tools).map(([name, tool]) => `${nameDigest(name)}${toolDigest(name, tool)}`),
  messages: transcriptDigest(messages).slice(0, TEXT_CHARACTERS),
});

/** The digest of the options and of the form of the answer; absent where neither is set. */
function optionsDigest(agent: Answering): Pick<RequestDigests, "options"> {
  const { headers: _, ...options } = agent.modelOptions ?? {};
  const format = responseFormatOf(agent);
  if (format === null && Object.keys(options).length === 0) return {};
  return { options: sha256(asText({ options, format })).slice(0, TEXT_CHARACTERS) };
}

/** The digest of a tool's name. In a request, the digest of the tool as the model sees it follows it. */
export const nameDigest = (name: string): string => sha256(name).slice(0, NAME_CHARACTERS);

// Tools never change, so their digests stay valid for the lifetime of the objects.
const knownTools = new WeakMap<Tool, { readonly name: string; readonly digest: string }>();

function toolDigest(name: string, tool: Tool): string {
  const known = knownTools.get(tool);
  if (known?.name === name) return known.digest;
  const digest = sha256(asText(describeTools({ [name]: tool }))).slice(0, TOOL_CHARACTERS);
  knownTools.set(tool, { name, digest });
  return digest;
}

/** The text to digest. A description with half a surrogate pair has no canonical form, and must not fail the beat. */
function asText(described: unknown): string {
  try {
    return canonical(described);
  } catch {
    return JSON.stringify(described);
  }
}

const transcriptDigest = (messages: readonly Message[]): string => transcriptHash(messages).copy().digest("hex");

const transcriptHash = prefixMemo({
  start: () => createHash("sha256"),
  copy: (hash) => hash.copy(),
  add: (hash, message) => void hash.update(messageDigest(message)),
});

/** The digest of one message as the model reads it. It does not depend on other messages. */
const messageDigest = (message: Message): Uint8Array =>
  createHash("sha256")
    .update(asText(promptOfMessage(message)))
    .digest();
