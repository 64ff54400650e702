/** The tools of an AI SDK agent as tools of cairn. */
import * as z from "zod";
import { type Effect, STRICTEST } from "../../core/calls/effects.ts";
import type { ApprovalRule, Tool, ToolContext, ToolDescribed } from "../../ports/agent.ts";
import { AgentInvalid } from "../../ports/agent-invalid.ts";
import { tool } from "../define.ts";
import { toolFile } from "../file.ts";
import { checkForms, shown } from "../option-forms.ts";
import { askHuman } from "../waits.ts";
import { callBack } from "./callbacks.ts";
import { convertSchema, fromJsonSchema } from "./schemas.ts";
import { TOOL_PROPERTY_FORMS } from "./forms.ts";
import { type ToolLoopSettings, TOOL_PROPERTIES, refuseIn } from "./settings.ts";
import { runtimeContextOf } from "./steps.ts";

/** A tool of the AI SDK, as far as it is read. */
export interface AiTool {
  readonly type?: string;
  readonly description?: string | ((options: { readonly context: unknown }) => string);
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly needsApproval?: boolean | ((input: unknown, options: object) => unknown);
  readonly execute?: (input: unknown, options: object) => unknown;
  readonly toModelOutput?: (options: object) => unknown;
}

interface Around {
  readonly which: string;
  readonly name: string;
  readonly effect: Effect | undefined;
  readonly timeoutMs: number | null;
  readonly settings: ToolLoopSettings;
}

export function toolFrom(given: AiTool, around: Around): Tool {
  const { which, name, effect = STRICTEST, timeoutMs, settings } = around;
  if (typeof given !== "object" || given === null) {
    throw new AgentInvalid(`${which} is ${shown(given)}: write tool({ ... }) of the package ai`);
  }
  if (given.type === "provider") throw new AgentInvalid(`${which} is a provider tool: ${TOOL_PROPERTIES["id"]?.says}`);
  refuseIn(`${which}: its property`, given as ToolLoopSettings, TOOL_PROPERTIES);
  checkForms(which, given, TOOL_PROPERTY_FORMS);
  const context = ((settings["toolsContext"] ?? {}) as ToolLoopSettings)[name];
  const { schema: input, parse } =
    given.inputSchema === undefined
      ? { schema: fromJsonSchema(which, { type: "object", properties: {}, additionalProperties: false }) }
      : convertSchema(`the inputSchema of ${which}`, given.inputSchema);
  const { description: said = "", execute, toModelOutput } = given;
  const description = typeof said === "function" ? said({ context }) : said;
  const decide = deciderOf(given, { ...around, context });
  const approval: Tool["approval"] = decide === null ? "never" : decide === "always" ? "always" : reasonBy(decide);
  const { strict, inputExamples, providerOptions } = given as ToolDescribed;
  const described = {
    ...(strict !== undefined && { strict }),
    ...(inputExamples && { inputExamples }),
    ...(providerOptions && { providerOptions }),
  };
  const more = Object.keys(described).length === 0 ? {} : { described };
  if (execute === undefined) {
    if (effect !== STRICTEST) {
      throw new AgentInvalid(`${which} has no execute, so its calls are questions, and an effect for it means nothing`);
    }
    const { schema: answer } =
      given.outputSchema === undefined
        ? { schema: z.json() }
        : convertSchema(`the outputSchema of ${which}`, given.outputSchema);
    return { ...askHuman({ description, input, answer }), ...more, approval };
  }
  const run = async (call: ToolContext<unknown>): Promise<unknown> => {
    if (typeof decide === "function") await refuseDenied(decide, call);
    const parsed = parse === undefined ? call.input : await parse(call.input);
    const options = { toolCallId: call.key, messages: [], abortSignal: call.signal, context };
    const toolCall = { type: "tool-call", toolCallId: call.key, toolName: name, input: parsed };
    await callBack(settings, ["onToolExecutionStart"], { toolCall, toolContext: context, messages: [] });
    const startedAt = performance.now();
    const ended = (toolOutput: object): Promise<void> => {
      const toolExecutionMs = performance.now() - startedAt;
      return callBack(settings, ["onToolExecutionEnd"], {
        toolCall,
        toolContext: context,
        messages: [],
        toolExecutionMs,
        toolOutput,
      });
    };
    try {
      const output = await lastOf(await execute(parsed, options));
      await ended({ ...toolCall, type: "tool-result", output });
      if (toModelOutput === undefined) return output;
      return readBy(await toModelOutput({ toolCallId: call.key, input: parsed, output }));
    } catch (error) {
      await ended({ ...toolCall, type: "tool-error", error });
      throw error;
    }
  };
  const parallel = settings["toolCallConcurrency"] !== 1;
  return { ...tool({ description, input, effect, approval, timeoutMs, parallel, run }), ...more };
}

/** A tool of the AI SDK may yield preliminary results; the last one counts. */
async function lastOf(given: unknown): Promise<unknown> {
  if (typeof given !== "object" || given === null || !(Symbol.asyncIterator in given)) return given;
  let last: unknown = null;
  for await (const each of given as AsyncIterable<unknown>) last = each;
  return last;
}

type Status = "not-applicable" | "approved" | "denied" | "user-approval";

interface Decided {
  readonly type: Status;
  readonly reason: string;
}

type Decide = (
  input: unknown,
  call: Pick<ToolContext<unknown>, "task"> & { readonly key?: string },
) => Promise<Decided>;

/** Who decides about a call: `toolApproval` of the agent, then `needsApproval` of the tool. Null: nobody has to. */
function deciderOf(
  { needsApproval = false }: AiTool,
  { name, settings, context, which }: Around & { readonly context: unknown },
): Decide | "always" | null {
  const { toolApproval, runtimeContext: setting, toolsContext = {}, tools } = settings;
  const optionsOf = (task: Parameters<Decide>[1]["task"], key = "") => ({
    toolCallId: key,
    messages: [],
    context,
    toolContext: context,
    runtimeContext: runtimeContextOf(setting, task),
  });
  const rule: unknown =
    typeof toolApproval === "object" && toolApproval !== null ? (toolApproval as ToolLoopSettings)[name] : toolApproval;
  if (rule === undefined || rule === null) {
    if (typeof needsApproval !== "function") return needsApproval ? "always" : null;
    return async (input, { task, key }) => {
      const asks = await needsApproval(input, optionsOf(task, key));
      return {
        type: asks ? "user-approval" : "not-applicable",
        reason: `needsApproval of ${which} asks for it`,
      };
    };
  }
  if (typeof rule !== "function") {
    const { type, reason } = statusOf(which, rule);
    return async () => ({ type, reason });
  }
  return async (input, { task, key = "" }) => {
    const options = optionsOf(task, key);
    const toolCall = { type: "tool-call", toolCallId: key, toolName: name, input };
    const ask = rule as (...given: readonly unknown[]) => unknown;
    const said = rule === toolApproval ? ask({ toolCall, tools, toolsContext, ...options }) : ask(input, options);
    return statusOf(which, await said);
  };
}

function statusOf(which: string, given: unknown): Decided {
  const { type, reason } = (
    typeof given === "object" && given !== null ? given : { type: given ?? "not-applicable" }
  ) as {
    readonly type: unknown;
    readonly reason?: string;
  };
  if (type !== "not-applicable" && type !== "approved" && type !== "denied" && type !== "user-approval") {
    throw new AgentInvalid(
      `toolApproval for ${which} is ${String(type)}: write "approved", "denied" or "user-approval"`,
    );
  }
  return { type, reason: reason ?? `toolApproval of ${which} asks for it` };
}

/** A denied call asks nobody: it fails before its tool is started. */
const reasonBy =
  (decide: Decide): ApprovalRule<unknown> =>
  async (input, { task }) => {
    const { type, reason } = await decide(input, { task });
    return type === "user-approval" && reason;
  };

async function refuseDenied(decide: Decide, { input, task, key }: ToolContext<unknown>): Promise<void> {
  const { type, reason } = await decide(input, { task, key });
  if (type === "denied") throw new Error(`ApprovalDenied: ${reason}`);
}

type Part = { readonly type: string } & Readonly<Record<string, unknown>>;

/** What the model reads, as a result of cairn. */
function readBy(given: unknown): unknown {
  const { type, value, reason } = (given ?? {}) as Partial<Part>;
  switch (type) {
    case "text":
    case "json":
      return value;
    case "error-text":
    case "error-json":
      throw new Error(typeof value === "string" ? value : JSON.stringify(value));
    case "execution-denied":
      throw new Error(`ApprovalDenied: ${typeof reason === "string" ? reason : "the tool denied its execution"}`);
    case "content":
      return contentOf(value as readonly Part[]);
    default:
      throw new Error(`toModelOutput returned ${String(type)}: return { type: "text" | "json" | "content", value }`);
  }
}

/** Texts, and files of the run. */
function contentOf(parts: readonly Part[]): unknown {
  const text = parts.flatMap(({ type, text: words }) => (type === "text" ? [String(words)] : [])).join("\n");
  const others = parts.filter(({ type }) => type !== "text").map(fileOf);
  return others.length === 0 ? text : { text, files: others };
}

function fileOf(part: Part): unknown {
  const { data, mediaType, filename: name } = part as Partial<Record<string, unknown>>;
  const content = typeof data === "object" && data !== null && "data" in data ? data.data : data;
  const bytes =
    typeof content === "string" ? Buffer.from(content, "base64") : content instanceof Uint8Array ? content : null;
  if (bytes === null || bytes.length === 0 || typeof mediaType !== "string") return part;
  return toolFile(bytes, { mediaType, ...(typeof name === "string" && { name }) });
}
