/**
 * Parses a prompt into the view that a scripted model gets: the task, the calls and their results. All data is read
 * from the prompt, so a script knows exactly what a real model would know.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import type { Json } from "../core/json.ts";
import type { CallOutcome } from "../core/message.ts";

/** A call with an outcome. */
interface ConversationCall {
  readonly tool: string;
  readonly args: Json;
  readonly outcome: CallOutcome;
  /** What the tool returned, or why the call did not succeed. */
  readonly result: Json;
}

/** The request to a scripted model, parsed. */
export interface Conversation {
  /** The system prompt. */
  readonly instructions: string;
  /** The first user message as text and as parsed JSON; `json` is undefined if the text is not JSON. */
  readonly task: { readonly text: string; readonly json: Json | undefined };
  /** All messages in order, without the instructions. Tool results are the text that the model reads. */
  readonly messages: readonly { readonly role: "user" | "assistant" | "tool"; readonly text: string }[];
  /** All calls with an outcome, in the order in which the model requested them. */
  readonly calls: readonly ConversationCall[];
  /** How many replies the model has given so far. */
  readonly turn: number;
  /** The result of the last successful call of that tool; undefined if there is none. */
  readonly resultOf: (tool: string) => Json | undefined;
}

/** What needs a look at each message is made when the script asks for it. */
export function conversationOf(prompt: LanguageModelV4Prompt): Conversation {
  const instructions: string[] = [];
  let turn = 0;
  let text: string | null = null;
  for (const message of prompt) {
    if (message.role === "system") instructions.push(message.content);
    else if (message.role === "assistant") turn += 1;
    else if (message.role === "user") text ??= firstTextOf(message);
  }
  const task = text ?? "";
  let messages: Conversation["messages"] | null = null;
  let calls: readonly ConversationCall[] | null = null;
  return {
    instructions: instructions.join("\n"),
    task: { text: task, json: parsed(task) },
    get messages() {
      return (messages ??= prompt
        .filter((message) => message.role !== "system")
        .map((message) => ({ role: message.role, text: textOf(message) })));
    },
    get calls() {
      return (calls ??= callsOf(prompt));
    },
    turn,
    resultOf(tool) {
      calls ??= callsOf(prompt);
      return calls.findLast((call) => call.tool === tool && call.outcome === "succeeded")?.result;
    },
  };
}

type SpokenMessage = Exclude<LanguageModelV4Message, { role: "system" }>;
type SpokenPart = SpokenMessage["content"][number];

const texts = new WeakMap<SpokenMessage, string>();

/** The text of a message. Requests of one run share their messages, so it is made once. */
function textOf(message: SpokenMessage): string {
  const text = texts.get(message) ?? joinedText(message);
  if (Object.isFrozen(message)) texts.set(message, text);
  return text;
}

/** What follows the task in its message tells of its files. */
const firstTextOf = ({ content }: Extract<SpokenMessage, { role: "user" }>): string =>
  content.find((part) => part.type === "text")?.text ?? "";

function joinedText({ content }: SpokenMessage): string {
  const words = (part: SpokenPart): string[] => {
    if (part.type === "text") return [part.text];
    if (part.type !== "tool-result") return [];
    const shown = shownOf(part);
    return [typeof shown === "string" ? shown : JSON.stringify(shown)];
  };
  return content.flatMap(words).join("\n");
}

function callsOf(prompt: LanguageModelV4Prompt): ConversationCall[] {
  const parts: SpokenPart[] = prompt.flatMap((message): SpokenPart[] =>
    message.role === "system" ? [] : message.content,
  );
  const results = new Map(parts.flatMap((part) => (part.type === "tool-result" ? [[part.toolCallId, part]] : [])));
  return parts.flatMap((part) => {
    const settled = part.type === "tool-call" ? results.get(part.toolCallId) : undefined;
    if (part.type !== "tool-call" || settled === undefined) return [];
    const { toolName: tool, input } = part;
    return [{ tool, args: input as Json, outcome: outcomeOf(settled), result: resultOf(settled) }];
  });
}

/**
 * The outcome of a call, from the provider options that cairn adds to the prompt. Another loop than cairn's may say in a
 * form of its own that a call was denied: the tool did not run, so the call failed.
 */
function outcomeOf({ output, providerOptions }: LanguageModelV4ToolResultPart): CallOutcome {
  if (!output.type.startsWith("error") && output.type !== "execution-denied") return "succeeded";
  return providerOptions?.["cairn"]?.["outcome"] === "unknown" ? "unknown" : "failed";
}

function resultOf(part: LanguageModelV4ToolResultPart): Json {
  return (part.providerOptions?.["cairn"]?.["words"] as Json | undefined) ?? shownOf(part);
}

const shownOf = ({ output }: LanguageModelV4ToolResultPart): Json =>
  output.type === "execution-denied" ? (output.reason ?? "denied") : (output.value as Json);

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
