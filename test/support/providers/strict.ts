/**
 * What providers refuse of a transcript, as far as it is publicly known: rules of their references and of errors that
 * others reported. A fake that takes every transcript would hide one that the real provider refuses.
 *
 * - Anthropic: each `tool_use` needs its `tool_result` in the next message (github.com/anthropics/claude-code/issues/8210,
 *   2025-09-26); text must be non-empty (github.com/aliasrobotics/cai/issues/182, 2025-06-01); thinking needs its
 *   signature, and newer models take no prefill (docs.anthropic.com, 2026-11).
 * - OpenAI Chat Completions: an assistant message with `tool_calls` is followed by a tool message for each ID; names match
 *   ^[a-zA-Z0-9_-]+$ and have at most 64 characters (platform.openai.com, 2026-11).
 * - OpenAI Responses: no tool call found for a function call output (github.com/james-6-23/codex2api/issues/414,
 *   2026-07-20), and the other way round; reasoning is followed by its item (github.com/BerriAI/litellm/issues/13420,
 *   2025-08-10).
 * - Groq: property 'reasoning_content' is unsupported (github.com/janhq/jan/issues/8136, 2026-05-13).
 * - Gemini: a call's turn comes right after a user's turn or a response (github.com/google-gemini/gemini-cli/issues/26486,
 *   2026-05-05); as many responses as calls (the same, 17208, 2026-01-21); contents have parts.
 * - Bedrock: roles alternate, the first is a user's; a `toolResult` for each `toolUse` in the next message; text is not blank
 *   (docs.aws.amazon.com, Converse, 2026-11).
 */
import type { SentBody } from "./wire.ts";

type Fields = Readonly<Record<string, unknown>>;

const listIn = (value: unknown): readonly Fields[] => (Array.isArray(value) ? (value as readonly Fields[]) : []);
const fieldsIn = (value: unknown): Fields => (value ?? {}) as Fields;
const isBlank = (value: unknown): boolean => typeof value !== "string" || value.trim() === "";
const equal = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  JSON.stringify(one.map(String).toSorted()) === JSON.stringify(other.map(String).toSorted());

/** Why the provider refuses this body, in words like its own; null: it takes it. */
export type Strict = (body: SentBody) => string | null;

/** The first rule that is broken; a rule gives null where it holds. */
const firstOf = (...found: readonly (string | null | false)[]): string | null =>
  found.find((each): each is string => typeof each === "string") ?? null;

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

export const strictAnthropic: Strict = (body) => {
  const messages = listIn(body["messages"]);
  for (const [index, { role, content }] of messages.entries()) {
    const at = `messages.${index}`;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listIn(content);
    const next = listIn(messages[index + 1]?.["content"]);
    const uses = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id);
    const before = new Set(
      listIn(messages[index - 1]?.["content"]).flatMap(({ type, id }) => (type === "tool_use" ? [id] : [])),
    );
    const results = blocks.filter(({ type }) => type === "tool_result").map(({ tool_use_id: id }) => id);
    const answered = next.filter(({ type }) => type === "tool_result").map(({ tool_use_id: id }) => id);
    const wrong = firstOf(
      blocks.length === 0 && `${at}: content must be non-empty`,
      index === 0 && role !== "user" && `${at}: first message must use the user role`,
      blocks.some(({ type, text }) => type === "text" && isBlank(text)) &&
        `${at}: text must contain non-whitespace text`,
      uses.some((id) => !/^[a-zA-Z0-9_-]+$/.test(String(id))) && `${at}: tool_use.id must match ^[a-zA-Z0-9_-]+$`,
      new Set(uses).size < uses.length && `${at}: tool_use ids must be unique`,
      uses.length > 0 && !equal(uses, answered) && `${at}: tool_use ids were found without tool_result blocks after`,
      results.some((id) => !before.has(id)) && `${at}: unexpected tool_use_id found in tool_result blocks`,
      blocks.some(({ type, signature }) => type === "thinking" && isBlank(signature)) &&
        `${at}: thinking.signature required`,
      blocks.some(({ type, input }) => type === "tool_use" && typeof input !== "object") &&
        `${at}: input must be an object`,
    );
    if (wrong !== null) return wrong;
  }
  return firstOf(
    typeof body["max_tokens"] !== "number" && "max_tokens: field required",
    messages.at(-1)?.["role"] === "assistant" && "this model does not support assistant message prefill",
  );
};

export const strictChat: Strict = (body) => {
  let owed: unknown[] = [];
  for (const [index, { role, content, tool_calls: calls, tool_call_id: id }] of listIn(body["messages"]).entries()) {
    const at = `messages[${index}]`;
    const asked = listIn(calls);
    const wrong = firstOf(
      role !== "tool" && owed.length > 0 && `${at}: tool_calls must be followed by tool messages: ${owed.join()}`,
      role === "tool" && !owed.includes(id) && `${at}: messages with role 'tool' must follow tool_calls`,
      role === "tool" && typeof content !== "string" && `${at}: content of a tool message is a string`,
      role === "assistant" && asked.length === 0 && isBlank(content) && `${at}: content or tool_calls must be set`,
      asked.some((call) => !NAME.test(String(fieldsIn(call["function"])["name"]))) && `${at}: function.name`,
      asked.some((call) => typeof fieldsIn(call["function"])["arguments"] !== "string") && `${at}: arguments`,
    );
    if (wrong !== null) return wrong;
    if (role === "tool") owed = owed.filter((each) => each !== id);
    if (role === "assistant") owed = asked.map((call) => call["id"]);
  }
  return owed.length > 0 ? `tool_calls without tool messages: ${owed.join()}` : null;
};

/** Groq takes no reasoning in a transcript. */
export const strictGroq: Strict = (body) =>
  listIn(body["messages"]).some((each) => "reasoning_content" in each || "reasoning" in each)
    ? "for 'role:assistant' the following must be satisfied: property 'reasoning_content' is unsupported"
    : strictChat(body);

export const strictResponses: Strict = (body) => {
  const items = listIn(body["input"]);
  const called = items.filter(({ type }) => type === "function_call").map(({ call_id: id }) => id);
  const put = items.filter(({ type }) => type === "function_call_output").map(({ call_id: id }) => id);
  const lonely = items.findIndex(({ type }, index) => {
    const next = items[index + 1];
    return (
      type === "reasoning" &&
      next?.["type"] !== "function_call" &&
      next?.["role"] !== "assistant" &&
      next?.["type"] !== "reasoning"
    );
  });
  return firstOf(
    called.some((id) => !put.includes(id)) && "No tool output found for function call",
    put.some((id) => !called.includes(id)) && "No tool call found for function call output",
    lonely >= 0 && `input[${lonely}]: 'reasoning' was provided without its required following item`,
    new Set(called).size < called.length && "Duplicate item found",
  );
};

export const strictGemini: Strict = (body) => {
  const contents = listIn(body["contents"]);
  for (const [index, { role, parts }] of contents.entries()) {
    const own = listIn(parts);
    const calls = own.filter((part) => part["functionCall"] !== undefined).length;
    const answers = listIn(contents[index + 1]?.["parts"]).filter(
      (part) => part["functionResponse"] !== undefined,
    ).length;
    const wrong = firstOf(
      own.length === 0 && `contents[${index}].parts must not be empty`,
      index === 0 && role !== "user" && "the first content must be of the user",
      calls > 0 && contents[index - 1]?.["role"] !== "user" && "function call turn comes right after a user turn",
      calls > 0 && calls !== answers && "the number of function response parts must equal that of function call parts",
      own.some((part) => part["text"] !== undefined && part["thought"] !== true && isBlank(part["text"])) &&
        `contents[${index}]: text must not be empty`,
    );
    if (wrong !== null) return wrong;
  }
  return null;
};

export const strictBedrock: Strict = (body) => {
  const messages = listIn(body["messages"]);
  const idsOf = (content: unknown, kind: "toolUse" | "toolResult"): readonly unknown[] =>
    listIn(content).flatMap((block) => (block[kind] === undefined ? [] : [fieldsIn(block[kind])["toolUseId"]]));
  for (const [index, { role, content }] of messages.entries()) {
    const [uses, results] = [idsOf(content, "toolUse"), idsOf(messages[index + 1]?.["content"], "toolResult")];
    const wrong = firstOf(
      index === 0 && role !== "user" && "a conversation must start with a user message",
      role === messages[index - 1]?.["role"] && `messages.${index}: roles must alternate`,
      listIn(content).length === 0 && `messages.${index}: the content field is empty`,
      listIn(content).some((block) => block["text"] !== undefined && isBlank(block["text"])) &&
        `messages.${index}: the text field is blank`,
      uses.length > 0 && !equal(uses, results) && "expected toolResult blocks for each toolUse block",
    );
    if (wrong !== null) return wrong;
  }
  return messages.at(-1)?.["role"] === "user" ? null : "a conversation must end with a user message";
};
