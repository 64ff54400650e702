/** What functions of the AI SDK get of a run: its steps, messages and contexts, made of what the run recorded. */
import type { ChoiceView, RunStep, RunView, SettledCall } from "../../ports/agent.ts";
import type { Json } from "../../core/json.ts";
import type { ToolLoopSettings } from "./settings.ts";

/** What is known of each step besides its calls. */
export interface About {
  readonly model: unknown;
  readonly runtimeContext: unknown;
  readonly toolsContext: ToolLoopSettings;
}

/** As far as a record of the run has it. Counts of tokens are those of the run (`totalUsage` of the end). */
export const stepResultsOf = (steps: readonly RunStep[], about: About) =>
  steps.map((step, stepNumber) => stepOf(step, stepNumber, about));

function stepOf({ text, calls, proposed }: RunStep, stepNumber: number, about: About) {
  const { provider = "", modelId = String(about.model) } = about.model as Partial<
    Record<"provider" | "modelId", string>
  >;
  const toolCalls = calls.map(callOf);
  const toolResults = calls.filter(({ outcome }) => outcome === "succeeded").map(resultOf);
  const failed = calls.filter(({ outcome }) => outcome !== "succeeded");
  const errors = failed.map(errorOf);
  return {
    callId: "",
    stepNumber,
    model: { provider, modelId },
    toolsContext: about.toolsContext,
    runtimeContext: about.runtimeContext,
    content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...toolCalls, ...toolResults, ...errors],
    text,
    reasoning: [],
    reasoningText: undefined,
    files: [],
    sources: [],
    toolCalls,
    staticToolCalls: toolCalls,
    dynamicToolCalls: [],
    toolResults,
    staticToolResults: toolResults,
    dynamicToolResults: [],
    finishReason: proposed.length > 0 ? ("tool-calls" as const) : ("stop" as const),
    rawFinishReason: undefined,
    usage: NO_USAGE,
    performance: {},
    warnings: undefined,
    request: {},
    response: { id: "", timestamp: new Date(0), modelId },
    providerMetadata: undefined,
  };
}

const NO_USAGE = {
  inputTokens: undefined,
  outputTokens: undefined,
  totalTokens: undefined,
  inputTokenDetails: {},
  outputTokenDetails: {},
};

const callOf = ({ call, tool, args }: SettledCall) => ({
  type: "tool-call" as const,
  toolCallId: call,
  toolName: tool,
  input: args,
});

const errorOf = (each: SettledCall) => ({ ...callOf(each), type: "tool-error" as const, error: each.result });

const resultOf = ({ call, tool, args, result }: SettledCall) => ({
  type: "tool-result" as const,
  toolCallId: call,
  toolName: tool,
  input: args,
  output: result,
});

/** The task as the model reads it, and the steps as model messages. */
export function modelMessagesOf({ task, steps }: Pick<ChoiceView, "task" | "steps">) {
  const initialMessages = [{ role: "user" as const, content: textOfTask(task) }];
  const responseMessages = steps.flatMap(({ text, calls }) => [
    {
      role: "assistant" as const,
      content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...calls.map(callOf)],
    },
    ...(calls.length === 0 ? [] : [{ role: "tool" as const, content: calls.map(toolPartOf) }]),
  ]);
  return { initialMessages, responseMessages, messages: [...initialMessages, ...responseMessages] };
}

const toolPartOf = ({ call, tool, outcome, result }: SettledCall) => ({
  type: "tool-result" as const,
  toolCallId: call,
  toolName: tool,
  output: { type: outcome === "succeeded" ? ("json" as const) : ("error-json" as const), value: result },
});

export const textOfTask = (task: Json): string => (typeof task === "string" ? task : JSON.stringify(task));

/** What a run has used, as the AI SDK counts it. */
export const totalUsageOf = ({ spent: { tokensIn, tokensOut } }: Pick<RunView, "spent">) => ({
  inputTokens: tokensIn,
  outputTokens: tokensOut,
  totalTokens: tokensIn + tokensOut,
  inputTokenDetails: {},
  outputTokenDetails: {},
});

/** The context that functions get: the setting, with the fields of the task over it. */
export const runtimeContextOf = (setting: unknown, task: Json): unknown =>
  typeof task === "object" && task !== null && !Array.isArray(task)
    ? { ...(setting as object), ...task }
    : (setting ?? {});
