/**
 * A prompt as a script wants to see it: the task, what was called and what came of it. Everything here is read off the
 * prompt, so a script knows exactly what a real model would know.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import type { Json } from "../core/json.ts";
import type { CallOutcome } from "../core/message.ts";

/** A call that came to an end. */
interface ConversationCall {
  readonly tool: string;
  readonly args: Json;
  readonly outcome: CallOutcome;
  /** What the tool returned; where it did not succeed, why. */
  readonly result: Json;
}

export interface Conversation {
  readonly instructions: string;
  /** The first user message, and the same parsed where it is JSON; otherwise `json` is undefined. */
  readonly task: { readonly text: string; readonly json: Json | undefined };
  /** In order, without the instructions; results of tools as the text that the model reads. */
  readonly messages: readonly { readonly role: "user" | "assistant" | "tool"; readonly text: string }[];
  /** In the order in which they were asked for. */
  readonly calls: readonly ConversationCall[];
  /** How many replies the model has given so far. */
  readonly turn: number;
  /** The result of the last call of that tool that succeeded. */
  readonly resultOf: (tool: string) => Json | undefined;
}

export function conversationOf(prompt: LanguageModelV4Prompt): Conversation {
  const spoken = prompt.filter((message) => message.role !== "system");
  const messages = spoken.map((message) => ({ role: message.role, text: textOf(message) }));
  const first = messages.find(({ role }) => role === "user")?.text ?? "";
  const calls = callsOf(prompt);
  return {
    instructions: prompt.flatMap((message) => (message.role === "system" ? [message.content] : [])).join("\n"),
    task: { text: first, json: parsed(first) },
    messages,
    calls,
    turn: spoken.filter(({ role }) => role === "assistant").length,
    resultOf: (tool) => calls.findLast((call) => call.tool === tool && call.outcome === "succeeded")?.result,
  };
}

type SpokenMessage = Exclude<LanguageModelV4Message, { role: "system" }>;
type SpokenPart = SpokenMessage["content"][number];

function textOf({ content }: SpokenMessage): string {
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

/** How the call ended, from the option that the prompt carries beside the words. */
function outcomeOf({ output, providerOptions }: LanguageModelV4ToolResultPart): CallOutcome {
  if (!output.type.startsWith("error")) return "succeeded";
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
