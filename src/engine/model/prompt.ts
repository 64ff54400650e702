/**
 * The transcript in the form that a model reads. The provider sees cairn's own call IDs. So a resumed run sends the
 * same request as the process that died.
 */
import type {
  JSONObject,
  JSONValue,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { prefixMemo } from "../../codec/prefix-memo.ts";
import { type FileRef, shortName } from "../../core/file.ts";
import { type LargeValue, READ_RESULT, shortDigest } from "../../core/calls/stored-values.ts";
import { isHidden } from "../../core/calls/next-message.ts";
import { filesOfPart } from "../../core/files-in.ts";
import type { Json } from "../../core/json.ts";
import { type CallOutcome, type Message, type Part, type Value, inline } from "../../core/message.ts";

type SpokenPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];

/** The bytes of files by digest, as base64. */
export type FileBytes = ReadonlyMap<string, string>;

/**
 * The prompt for these messages, with the instructions as system message unless they are empty. `files`: the files to
 * show; the others are only named. Absent: each is a reference, so that digests and counts need no bytes.
 */
export function promptOf(instructions: string, messages: readonly Message[], files?: FileBytes): LanguageModelV4Prompt {
  const spoken = files === undefined ? spokenIn(messages) : spokenIn(messages).map((each) => withBytes(each, files));
  return instructions === "" ? [...spoken] : [{ role: "system", content: instructions }, ...spoken];
}

/** The prompt for one message, as an adapter would get it for a transcript of this message alone. */
export function promptOfMessage(message: Message): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  add(prompt, message);
  return prompt;
}

/** Adds a message. What is in the prompt already is replaced and never changed. */
function add(prompt: LanguageModelV4Prompt, { role, parts: all }: Message): void {
  const parts = all.some(isHidden) ? all.filter((part) => !isHidden(part)) : all;
  switch (role) {
    case "user":
      prompt.push(
        frozen({ role, content: parts.flatMap((part) => (part.kind === "file" ? shown(part) : textOf(part))) }),
      );
      return;
    case "assistant": {
      const content = parts.flatMap(spokenOf);
      if (content.length > 0) prompt.push(frozen({ role, content }));
      showFiles(prompt, "Files that you made:", parts);
      return;
    }
    case "tool": {
      // Providers want all results of one reply in one message right after it. The transcript has one message per
      // result, each with its own time, and user messages may lie in between.
      const results = parts.flatMap(resultOf);
      if (results.length === 0) return;
      const after = prompt.findLastIndex((each) => each.role === "assistant") + 1;
      const first = prompt[after];
      if (first?.role === "tool") prompt[after] = frozen({ role, content: [...first.content, ...results] });
      else prompt.splice(after, 0, frozen({ role, content: results }));
      const calls = parts.flatMap((part) => (part.kind === "result" ? [part.call] : []));
      showFiles(prompt, `Files that ${calls.join(", ")} returned:`, parts);
    }
  }
}

/**
 * Adds a user message with the files of these parts. Each provider that takes files takes them from the user; few take
 * them from tools, or from the model itself.
 */
function showFiles(prompt: LanguageModelV4Prompt, lead: string, parts: readonly Part[]): void {
  const files = parts.flatMap(filesOfPart);
  if (files.length === 0) return;
  prompt.push(frozen({ role: "user", content: [{ type: "text", text: lead }, ...files.flatMap(shown)] }));
}

/** What names the provider reference that stands for a file of the run until its bytes are added. */
const CAIRN = "cairn";

/** A file, after a line with its name, by which tools can read it. */
const shown = (file: FileRef): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] => [
  {
    type: "text",
    text: `File ${shortName(file)}: ${JSON.stringify(file.name)}, ${file.mediaType}, ${file.bytes} bytes.`,
  },
  {
    type: "file",
    filename: file.name,
    mediaType: file.mediaType,
    data: { type: "reference", reference: { [CAIRN]: file.file } },
  },
];

/** The message with the bytes of its files. A file without bytes is left out: the line before it names it. */
function withBytes(message: LanguageModelV4Message, files: FileBytes): LanguageModelV4Message {
  if (message.role !== "user" || !message.content.some(({ type }) => type === "file")) return message;
  const content = message.content.flatMap((part): typeof message.content => {
    if (part.type !== "file" || part.data.type !== "reference") return [part];
    const base64 = files.get(part.data.reference[CAIRN] ?? "");
    if (base64 === undefined) return [{ type: "text", text: NOT_SHOWN }];
    return [{ ...part, data: { type: "data", data: base64 } }];
  });
  return frozen({ ...message, content });
}

const NOT_SHOWN = "It is not shown again, since the files of this request are too large together.";

/** All requests of a transcript share its messages, so an adapter that changes one gets an error. */
const spokenIn = prefixMemo<LanguageModelV4Prompt>({ start: () => [], copy: (prompt) => [...prompt], add });

/** Freezes a value and all that it contains. */
function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const each of Object.values(value)) frozen(each);
  return value;
}

const textOf = (part: Part): LanguageModelV4TextPart[] =>
  part.kind === "text" ? [{ type: "text", text: part.text }] : [];

function spokenOf(part: Part): SpokenPart[] {
  switch (part.kind) {
    case "text":
      // Some providers refuse a request with an empty text.
      return part.text.trim() === "" ? [] : textOf(part);
    case "reasoning":
      return [{ type: "reasoning", text: part.text, ...optionsOf(part.provider) }];
    case "call": {
      const { call, tool, args, provider } = part;
      return [{ type: "tool-call", toolCallId: call, toolName: tool, input: inputOf(args), ...optionsOf(provider) }];
    }
    case "file":
    case "result":
      return [];
  }
}

/**
 * The arguments of a call as an object, because providers accept nothing else. Unreadable arguments were kept as bare
 * text and are shown in a field.
 */
function inputOf(args: Value): JSONObject {
  if (args.kind === "blob") return { shortened: preview(args) };
  const { json } = args;
  const isObject = typeof json === "object" && json !== null && !Array.isArray(json);
  return (isObject ? json : { unreadable: json }) as JSONObject;
}

function resultOf(part: Part): LanguageModelV4ToolResultPart[] {
  if (part.kind !== "result") return [];
  const { call: toolCallId, tool: toolName, outcome, value, edited } = part;
  const shown = edited === null ? value : inline(`${EDITED}${inWords(edited)}. What came of it: ${inWords(value)}`);
  return [{ type: "tool-result", toolCallId, toolName, ...outputs[outcome](shown) }];
}

type Shown = Pick<LanguageModelV4ToolResultPart, "output" | "providerOptions">;

/** How each outcome is shown. Chat formats without an error flag show the text only, so the text states the outcome. */
const outputs: { readonly [K in CallOutcome]: (value: Value) => Shown } = {
  succeeded: (value) =>
    value.kind === "inline" && typeof value.json !== "string"
      ? { output: { type: "json", value: value.json as JSONValue } }
      : { output: { type: "text", value: inWords(value) } },
  failed: (value) => notSucceeded("failed", { lead: "The call failed: ", words: inWords(value) }),
  unknown: (value) => notSucceeded("unknown", { lead: UNKNOWN, words: inWords(value) }),
};

const EDITED = "A person changed the arguments of this call before it ran, to ";
const UNKNOWN = "It is not known whether this call took effect; it may have. ";

/** The outcome as text, and again as an option of cairn for scripted models. Providers ignore that option. */
const notSucceeded = (outcome: CallOutcome, { lead, words }: { lead: string; words: string }): Shown => ({
  output: { type: "error-text", value: `${lead}${words}` },
  providerOptions: { cairn: { outcome, words } },
});

function inWords(value: Value): string {
  if (value.kind === "blob") return preview(value);
  return typeof value.json === "string" ? value.json : JSON.stringify(value.json);
}

/** The beginning and the end of a value that is too large to show. */
function preview(value: LargeValue): string {
  const { bytes, head, tail } = value;
  return (
    `This value has ${bytes} bytes, which is too long to show. ` +
    `${READ_RESULT}, where it is offered, reads the rest: its \`result\` is "${shortDigest(value)}". ` +
    `Its first ${head.length} characters:\n${head}\nIts last ${tail.length} characters:\n${tail}`
  );
}

/** A provider's own metadata of a part, sent back unchanged. */
function optionsOf(provider: Json): { providerOptions?: SharedV4ProviderOptions } {
  return provider === null ? {} : { providerOptions: provider as SharedV4ProviderOptions };
}
